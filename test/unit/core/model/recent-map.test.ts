import { expect, test } from 'vitest';
import { RecentMap } from '../../../../control-plane/core/model/recent-map.ts';

test('a map of recent entries drops the one that was set longest ago, and never another', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  expect([...map]).toEqual([
    ['b', 2],
    ['a', 3],
  ]);
  map.set('c', 4);
  expect([...map.keys()]).toEqual(['a', 'c']);
});
