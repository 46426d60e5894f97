import { afterEach, expect, test, vi } from 'vitest';
import { timeMsOf } from '../../../cli/inputs/arguments.ts';
import { timeOf } from '../../../cli/terminal/time.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  ['UTC', '2026-01-01T12:00:00Z'],
  ['Europe/Berlin', '2026-01-01T13:00:00+01:00'],
  ['America/St_Johns', '2026-01-01T08:30:00-03:30'],
  ['Asia/Kathmandu', '2026-01-01T17:45:00+05:45'],
])('L220: a time is shown in the zone %s, and --since takes it', (zone, shown) => {
  vi.stubEnv('TZ', zone);
  expect(timeOf(1_767_268_800)).toBe(shown);
  expect(timeMsOf(shown)).toBe(1_767_268_800_000);
});

test('L220: both hours of the night in which clocks go back are shown apart', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  const [first, second] = [1_792_888_200, 1_792_891_800];
  expect([timeOf(first), timeOf(second)]).toEqual(['2026-10-25T02:30:00+02:00', '2026-10-25T02:30:00+01:00']);
  expect([first, second].map((one) => timeMsOf(timeOf(one)))).toEqual([first * 1_000, second * 1_000]);
});

test('L220: --since takes times as pages and JSON have them, and without a zone as local; what is no time is refused, and the error shows one', () => {
  vi.stubEnv('TZ', 'Europe/Berlin');
  const withZone = ['12:00:00 UTC', '12:00Z', '14:00:00 +02:00', '14:00:00+0200', '12:00:00.000Z'];
  const times = [...withZone, '13:00:00', '13:00'].flatMap((time) => [
    `2026-01-01 ${time}`,
    `2026-01-01T${time}`,
  ]);
  for (const text of [...times, '1767268800', ' 1767268800.0'])
    expect([text, timeMsOf(text)]).toEqual([text, 1_767_268_800_000]);
  expect(timeMsOf('2026-01-01')).toBe(1_767_222_000_000);
  for (const text of ['7', 'soon', '2026', '1 week', '12:00', '2026-13-01', '2026-01-01T25:00', ''])
    expect(() => timeMsOf(text)).toThrow(/is not a time; give an age such as 10m, or a time such as \d{4}-/);
});
