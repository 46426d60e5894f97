import { expect, test } from 'vitest';
import { type Validation, validateApplication, validationSteps } from '../../../shared/application.ts';
import { MAX_PROBLEMS } from '../../../shared/application-problems.ts';
import { InstanceNames } from '../../../shared/instance-names.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { hostileDescriptions } from '../../support/fixtures/hostile/descriptions.ts';
import type { HostileBody } from '../../support/fixtures/hostile/values.ts';
import { fc } from '../../support/tools/random-cases.ts';

const BYTES = 65_536;
/** Beyond 64 KiB a control plane lets others run after 2,000 units of work. */
const MAX_STEP = 2_000;

const bodies = hostileDescriptions(BYTES).flatMap(({ shape, text }): (HostileBody & { value: unknown })[] => {
  try {
    return [{ shape, text, value: JSON.parse(text) }];
  } catch {
    return [];
  }
});

test('H306: hundreds of hostile shapes get at most 100 problems, in short sentences', () => {
  expect(bodies.length).toBeGreaterThan(900);
  let invalid = 0;
  for (const { shape, value } of bodies) {
    const validation = validateApplication(value);
    if (validation.valid) continue;
    invalid += 1;
    const { problems } = validation;
    expect(problems.length, shape).toBeLessThanOrEqual(MAX_PROBLEMS);
    for (const { pointer, message } of problems)
      expect(pointer.length + message.length, shape).toBeLessThan(1_200);
  }
  expect(invalid).toBeGreaterThan(700);
});

test('H306: the work for a description grows with its size, and no step of it is long', () => {
  for (const { shape, text, value } of bodies) {
    const units = unitsOf(value);
    expect(Math.max(0, ...units), shape).toBeLessThanOrEqual(MAX_STEP);
    expect(sum(units), shape).toBeLessThan(1_000 + text.length / 2);
  }
});

test('H306: problems beyond the hundredth are counted, and the check ends there', () => {
  const wrong = service({ environment: Array.from({ length: 1_000 }, () => [''] as never) });
  const input = application(...Array.from({ length: 10 }, (_, n) => ({ ...wrong, name: `name${n}` })));
  const validation = validateApplication(input) as Extract<Validation, { valid: false }>;
  expect(validation.problems).toHaveLength(MAX_PROBLEMS);
  expect(validation.more).toBeGreaterThan(0);
  expect(sum(unitsOf(input))).toBeLessThan(2_000);
});

const sum = (units: readonly number[]) => units.reduce((all, one) => all + one, 0);

function unitsOf(value: unknown): number[] {
  const units: number[] = [];
  const steps = validationSteps(value);
  for (let step = steps.next(); !step.done; step = steps.next()) units.push(step.value);
  return units;
}

test('C23, H306: names are found, and collisions too, as if every name had been made', () => {
  const group = fc.tuple(
    fc.constantFrom(...'web web1 web10 web0 web01 a a9 a99 A9 WEB Web1 7 77'.split(' ')),
    fc.constantFrom(1, 2, 10, 11, 100, 101, 999, 1000),
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(group, { selector: ([name]) => name.toLowerCase(), maxLength: 6 }),
      (groups) => {
        const names = new InstanceNames();
        const [all, folded] = [new Set<string>(), new Set<string>()];
        for (const [at, [name, count]] of groups.entries()) {
          const made = Array.from({ length: count }, (_, n) => `${name}${n}`);
          const taken = made.find((one) => folded.has(one.toLowerCase()));
          const collision = names.collisionOf(name, count);
          expect(collision?.instance).toBe(taken);
          if (taken !== undefined) return;
          names.add(name, count, at);
          for (const one of made) all.add(one) && folded.add(one.toLowerCase());
        }
        for (const name of groups.flatMap(([one]) => [one, one.toUpperCase()]))
          for (const counter of ['', '0', '00', '1', '01', '9', '10', '99', '100', '999', '1000'])
            expect(names.has(name + counter), name + counter).toBe(all.has(name + counter));
      },
    ),
  );
});
