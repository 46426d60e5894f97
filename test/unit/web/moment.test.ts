import { expect, test } from 'vitest';
import { timeMsOf } from '../../../cli/inputs/arguments.ts';
import { momentText } from '../../../control-plane/web/components/moment.ts';

test.each([
  [0, '2026-11-29 20:14:05 UTC'],
  [60, '2026-11-29 21:14:05 +01:00'],
  [330, '2026-11-30 01:44:05 +05:30'],
  [-210, '2026-11-29 16:44:05 -03:30'],
  [840, '2026-11-30 10:14:05 +14:00'],
])('W227: at %j minutes from UTC a moment is %s, which berth logs --since takes', (offsetMin, text) => {
  const ms = Date.UTC(2026, 10, 29, 20, 14, 5);
  expect(momentText(ms, offsetMin)).toBe(text);
  expect(timeMsOf(text)).toBe(ms);
});
