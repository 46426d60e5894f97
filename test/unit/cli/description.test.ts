import { expect, test } from 'vitest';
import { assign, imageDescription } from '../../../cli/description.ts';
import { validateApplication } from '../../../shared/application.ts';

test('L193: run --image makes a valid description of every image, whatever its name', () => {
  for (const [image, name] of [
    ['debian:13', 'debian'],
    ['registry.example:5000/team/my_app.web:1', 'my-app-web'],
    [`example/go@sha256:${'0'.repeat(64)}`, 'go-image'],
    [`example/${'a'.repeat(200)}`, 'a'.repeat(128)],
  ] as const) {
    const description = imageDescription(image, ['sh', '-c', 'date']);
    expect(description.name).toBe(name);
    expect(validateApplication(description)).toMatchObject({ valid: true });
  }
});

test('L26, L194: --set finds entries of lists within lists by their index, and names what the list has if it does not have the name', () => {
  const description = imageDescription('debian:13', []);
  assign(description, 'services.main.environment.0=["A", "1"]');
  assign(description, 'services.main.environment.0.1=x');
  assign(description, 'services.main.environment.1=["B"]');
  assign(description, 'services.0.environment.1.1=2');
  expect(description.services[0]?.environment).toEqual([
    ['A', 'x'],
    ['B', 2],
  ]);
  for (const [change, problem] of [
    ['services.main.environment.0.9=x', '--set finds no 9; the list has 2 entries.'],
    ['services.man.total_count=3', '--set finds no man; the list has main.'],
    ['services.main.ports.web.port_number=3', '--set finds no web; the list has 0 entries.'],
  ] as const)
    expect(() => assign(description, change)).toThrow(problem);
});
