import { expect, test } from 'vitest';
import { assignmentOf } from '../../../shared/expand.ts';
import { service } from '../../support/fixtures/applications.ts';
import { problemsOf, withService } from '../../support/fixtures/problems.ts';

/** Pointers within the service, and the messages. */
const problemsIn = (changes: Record<string, unknown>): string[] =>
  problemsOf(withService(changes)).map(
    ({ pointer, message }) => `${pointer.replace('/services/0/', '')} ${message}`,
  );
const tcp = { port: 80 };

const BOUNDS: [of: string, make: (value: number) => Record<string, unknown>, least: number, most: number][] =
  [
    ['health/tcp/port', (port) => ({ health: { tcp: { port } } }), 1, 65_535],
    ['health/http/port', (port) => ({ health: { http: { path: '/', port } } }), 1, 65_535],
    ['health/interval', (interval) => ({ health: { tcp, interval } }), 1, 3_600],
    ['health/interval', (interval) => ({ health: { command: 'true', interval } }), 5, 3_600],
    ['health/interval', (interval) => ({ health: { image: true, interval } }), 5, 3_600],
    ['health/timeout', (timeout) => ({ health: { tcp, timeout } }), 1, 60],
    ['health/retries', (retries) => ({ health: { tcp, retries } }), 1, 100],
    ['health/start_period', (start_period) => ({ health: { tcp, start_period } }), 0, 3_600],
    ['restart/attempts', (attempts) => ({ restart: { attempts } }), 0, 100],
    ['restart/window', (window) => ({ restart: { attempts: 1, window } }), 10, 86_400],
    ['restart/delay', (delay) => ({ restart: { attempts: 1, delay } }), 1, 3_600],
  ];
test.each(BOUNDS)(
  'C287: %s at its bounds is valid, and beyond them one error names it',
  (of, make, least, most) => {
    for (const value of [least, most]) expect(problemsIn(make(value))).toEqual([]);
    for (const value of [least - 1, most + 1, least + 0.5, String(least), null])
      expect(problemsIn(make(value as number)), String(value)).toEqual([
        expect.stringMatching(`^${of} must `),
      ]);
  },
);

const path = (text: unknown) => problemsIn({ health: { http: { path: text, port: 80 } } });
test('C287: a path begins with "/" and has only printable ASCII without spaces, at most 1,024 characters', () => {
  for (const text of ['/', '//elsewhere/', '/a?b=c#d', `/${'x'.repeat(1_023)}`, '/%0d%0a'])
    expect(path(text)).toEqual([]);
  const wrong = ['', 'x', 'http://elsewhere/', '/a b', '/a\r\nHost: x', '/a\n', '/\u00e9', '/\0', ' /', 5];
  for (const text of [...wrong, null, `/${'x'.repeat(1_024)}`])
    expect(path(text), String(text)).toEqual([expect.stringMatching(/^health\/http\/path must /)]);
});
const command = (text: unknown) => problemsIn({ health: { command: text } });
test('C287: a command has at least a word, at most 4,096 characters, and only variables that are there', () => {
  for (const text of ['true', "''", '{dns_name#self} {user_name}', 'x'.repeat(4_096)])
    expect(command(text)).toEqual([]);
  const wrong = ['', ' ', '\t\n', '\\\n', '\\\n \\\n', 'a\0', "it's", 'a\\', '{nobody}', '{secret#A}', 5];
  for (const text of [...wrong, 'x'.repeat(4_097)])
    expect(command(text), JSON.stringify(text)).toEqual([expect.stringMatching(/^health\/command /)]);
});
test('C287: exactly one kind of check, and no other fields', () => {
  const three = { tcp, http: { path: '/', port: 1 }, command: 'x' };
  for (const health of [{}, { interval: 5 }, { tcp, image: true }, three])
    expect(problemsIn({ health })).toEqual([expect.stringMatching(/^health must have exactly one of /)]);
  for (const [health, of] of [
    [{ image: false }, 'health/image'],
    [{ tcp: { port: 1, host: 'x' } }, 'health/tcp'],
    [{ tcp, url: 'x' }, 'health'],
    [[], 'health'],
    ['tcp', 'health'],
  ] as const)
    expect(problemsIn({ health })).toEqual([expect.stringMatching(`^${of}`)]);
  expect(problemsIn({ restart: {} })).toEqual([expect.stringMatching(/^restart\/attempts is missing/)]);
  expect(problemsIn({ restart: { attempts: 1, max: 2 } })).toEqual([expect.stringMatching(/^restart/)]);
});

test('C287: a description without the new fields is assigned as before', () => {
  const owner = { userName: 'u', userId: 1, fsUid: 1 };
  const context = { executionId: 1, executionName: 'n', deploymentName: 'd', ...owner };
  const assigned = (definition: ReturnType<typeof service>) =>
    assignmentOf({ service: 1, generation: 1 }, 'main0', definition, 0, context);
  const made = assigned(service());
  expect(made).not.toHaveProperty('health');
  expect(Object.keys(made).sort()).toEqual(
    Object.keys(assigned(service({ restart: { attempts: 1 } }))).sort(),
  );
});
