import { expect, test } from 'vitest';
import { checkText, textSteps } from '../../../control-plane/web/description/draft.ts';
import { placeSteps } from '../../../control-plane/web/description/json-places.ts';
import { readJson } from '../../../shared/json-faults.ts';
import { finish, TURN_UNITS } from '../../../shared/steps.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { fc } from '../../support/tools/random-cases.ts';

const text = (value: unknown) => JSON.stringify(value, null, 2);
const problems = (typed: string) =>
  checkText(typed).problems.map(({ line, column, path }) => `${line}:${column} ${path}`);

const faulty: [typed: string, place: [number, number], message: string][] = [
  ['{\n  "a": 1\n  "b": 2\n}', [3, 3], 'missing comma'],
  ['{\n  "a": 1,\n}', [3, 1], 'extra comma'],
  ['[1,\n 2,\n]', [3, 1], 'extra comma'],
  ['{\n  // a word\n  "a": 1 }', [2, 3], 'comments'],
  ["{\n  'a': 1 }", [2, 3], 'double quotes'],
  ['{"a": 1', [1, 8], 'closing }'],
  ['{"a": "b\n}', [1, 7], 'no closing quote'],
  ['{"a": 1}\n{}', [2, 1], 'after the end'],
  ['{"a": "\t"}', [1, 7], 'escaped'],
  ['{"a": "\\q"}', [1, 7], 'backslash'],
  ['', [1, 1], 'expected a value'],
  ['\u00a0{}', [1, 1], 'JSON'],
  ['['.repeat(300_000), [1, 1], 'JSON'],
];
// The cause stands in the title, since one of the texts is long.
test.each(faulty.map(([typed, place, message]) => ({ typed, place, message })))(
  'W41: a fault is reported at its place: $message',
  ({ typed, place: [line, column], message }) => {
    const [fault] = readJson(typed).faults ?? [];
    expect(fault).toMatchObject({ line, column, message: expect.stringContaining(message) });
  },
);

test('W41: the first faults of a text are reported, and each problem of a long text has its line', () => {
  expect(readJson('x '.repeat(500_000)).faults).toHaveLength(1);
  expect(readJson('x\n'.repeat(500_000)).faults).toHaveLength(5);
  const services = Array.from({ length: 100 }, () => ({}));
  const { problems } = checkText(`${'\n'.repeat(900_000)}${JSON.stringify({ services })}`);
  expect(problems[99]).toMatchObject({ line: 900_001 });
});

test('W41: a text is valid exactly if JSON.parse accepts it, and any other text has at least one fault', () => {
  const pieces = fc.constantFrom(...'{}[],:"-1e\n\\', '"a"', 'null');
  const joined = fc.array(pieces).map((all) => all.join(''));
  fc.assert(
    fc.property(fc.oneof(joined, fc.string(), fc.json()), (typed) => {
      const read = readJson(typed);
      if (read.faults) expect(read.faults.length).toBeGreaterThan(0);
      else expect(read.value).toEqual(JSON.parse(typed));
    }),
  );
});

const placesIn = (typed: string, pointers: readonly string[]) => finish(placeSteps(typed, pointers));

test('W41: the place of every value is found, in one pass and whatever the values are', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.nat(3), (value, indent) => {
      const typed = JSON.stringify(value, null, indent);
      const pointers = pointersIn(value);
      const found = placesIn(typed, pointers);
      const lines = typed.split('\n');
      for (const [n, pointer] of pointers.entries()) {
        const { line = 0, column = 0 } = found[n] ?? {};
        const rest = [lines[line - 1]?.slice(column - 1), ...lines.slice(line)].join('\n');
        const ofValue = JSON.stringify(valueAt(value, pointer), null, indent).slice(0, 1);
        const starts = [JSON.stringify(keysOf(pointer).at(-1) ?? ''), ofValue];
        const isFound = starts.some((start) => rest.startsWith(start));
        expect(isFound, `${typed} ${pointer}`).toBe(true);
      }
    }),
  );
});
test.each([
  ['', 1, 1],
  ['/a', 2, 3],
  ['/a/0', 3, 5],
  ['/a/1/b~1c', 4, 7],
  // A value that is missing.
  ['/a/1/no/way', 4, 5],
  ['/a/7', 2, 3],
])('W41: the pointer %j leads to the line %i', (pointer, line, column) => {
  expect(placesIn('{\n  "a": [\n    1,\n    { "b/c": 2 }\n  ]\n}', [pointer])).toEqual([{ line, column }]);
});
test('W41: if a name occurs twice, a pointer leads to the last one', () => {
  const last = { line: 2, column: 1 };
  expect(placesIn('{ "a": [1],\n"a": 2 }', ['/a', '/a/0'])).toEqual([last, last]);
});
test('W41: if names occur again and again, the place is that of the value that JSON.parse returns', () => {
  const key = fc.constantFrom('a', 'b');
  const { json } = fc.letrec<{ json: string }>((tie) => {
    const member = fc.tuple(key, tie('json')).map(([name, one]) => `"${name}":${one}`);
    const list = fc.array(tie('json'), { maxLength: 3 }).map((all) => `[${all.join(',')}]`);
    const object = fc.array(member, { maxLength: 4 }).map((all) => `{${all.join(',')}}`);
    return { json: fc.oneof({ maxDepth: 4 }, fc.constantFrom('0', '1', '2'), list, object) };
  });
  fc.assert(
    fc.property(json, (typed) => {
      const value = JSON.parse(typed);
      const pointers = pointersIn(value);
      // Other pointers must not disturb, whether their values are there or in an earlier member only.
      const places = placesIn(typed, [...pointers, '/a/a/a', '/a/b', '/b/a', '/b/0/a', '/a/0']);
      for (const [n, pointer] of pointers.entries()) {
        const rest = typed.slice((places[n]?.column ?? 0) - 1);
        const member = /^"[ab]":/.exec(rest)?.[0] ?? '';
        const expected = JSON.stringify(valueAt(value, pointer));
        const found = valueBefore(rest.slice(member.length));
        expect(JSON.stringify(found), `${typed} ${pointer}`).toBe(expected);
      }
    }),
  );
});
test('H306, H308: a text that repeats a key is scanned in steps, however many values are sought in it', () => {
  const services = JSON.stringify(Array.from({ length: 100 }, () => ({})));
  const repeated = (bytes: number) => `{${'"services":0,'.repeat(bytes / 13)}"services":${services}}`;
  const [small, large] = [2 ** 18, 2 ** 20].map((bytes) => unitsOf(repeated(bytes)));
  expect(large?.problems).toBe(100);
  expect(large?.units.length).toBeGreaterThan(15);
  expect(Math.max(...(large?.units ?? []))).toBeLessThanOrEqual(TURN_UNITS);
  expect(sum(large?.units)).toBeLessThan(4 * sum(small?.units));
});

test('W41: every problem is reported at its line, in the order of lines', () => {
  const described = text({ ...application(service({ total_count: 0, essential_count: -1 })), size: -1 });
  const lines = described.split('\n');
  const lineOf = (part: string) => 1 + lines.findIndex((line) => line.includes(part));
  expect(problems(described)).toEqual([
    `${lineOf('"size"')}:3 size`,
    `${lineOf('"total_count"')}:7 services[0].total_count`,
    `${lineOf('"essential_count"')}:7 services[0].essential_count`,
  ]);
});
test('W40, W41: a description within {"application": ...} is read, and lines are counted in the whole text', () => {
  const wrapped = { name: 'mine', application: { ...application(), name: 'x' } };
  expect(problems(text(wrapped))).toEqual(['4:5 name']);
  const { valid } = checkText(text({ application: application() }));
  expect(valid?.value).toEqual(application());
  const { name: _, ...nameless } = application();
  expect(checkText(text({ ...nameless, will_end: 'no' })).problems).toMatchObject([
    { line: 1, path: 'name', message: 'is missing: it must be text' },
    { path: 'will_end', message: 'must be true or false' },
  ]);
});

/** The value at the beginning of a text that goes on after it. */
function valueBefore(text: string): unknown {
  for (let end = 1; end <= text.length; end++) {
    try {
      return JSON.parse(text.slice(0, end));
    } catch {
      // Not the whole value.
    }
  }
  throw new Error(`no value in ${text}`);
}

function unitsOf(typed: string): { units: number[]; problems: number } {
  const units: number[] = [];
  const steps = textSteps(typed);
  let step = steps.next();
  for (; !step.done; step = steps.next()) units.push(step.value);
  return { units, problems: step.value.problems.length };
}

const sum = (units: readonly number[] = []): number => units.reduce((all, one) => all + one, 0);

/** Pointers to the value and to all values within it. */
function pointersIn(value: unknown, pointer = ''): string[] {
  if (typeof value !== 'object' || value === null) return [pointer];
  const within = Object.entries(value).flatMap(([key, one]) =>
    pointersIn(one, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`),
  );
  return [pointer, ...within];
}

const keysOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

const valueAt = (value: unknown, pointer: string): unknown =>
  keysOf(pointer).reduce((one, key) => (one as Record<string, unknown>)[key], value);
