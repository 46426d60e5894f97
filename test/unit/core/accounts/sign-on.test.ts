import { expect, test } from 'vitest';
import { groupsIn, rowFor } from '../../../../control-plane/core/accounts/sign-on.ts';

const row = (group: string) => ({ group, role: group, quota: 'default' });

test('H533: the first row with a group of the user counts, and * is for everybody', () => {
  const rows = [row('operators'), row('staff'), row('*')];
  expect(rowFor(rows, ['staff', 'operators'])?.role).toBe('operators');
  expect(rowFor(rows, ['staff'])?.role).toBe('staff');
  expect(rowFor(rows, [])?.role).toBe('*');
  expect(rowFor(rows.slice(0, 2), ['Staff', 'operators '])).toBeUndefined();
});

test('H533: groups are a list or one text; anything else counts as no group', () => {
  expect(groupsIn(['a', 7, null, 'b'])).toEqual(['a', 'b']);
  expect(groupsIn('a')).toEqual(['a']);
  for (const claim of [undefined, null, 7, { a: true }]) expect(groupsIn(claim)).toEqual([]);
  expect(groupsIn(Array.from({ length: 1_000_000 }, () => 'a'))).toHaveLength(10_000);
});
