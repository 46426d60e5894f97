import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { chooseShare, longFilesElsewhere, readShare } from '../../support/tools/share.ts';

describe('shares of the long tests', () => {
  test('each long file is in exactly one half or third, and all run without a share', () => {
    const long = globSync('test/{api,browser,contract,e2e}/**/*.test.ts').sort();
    const elsewhere = ['1/2', '2/2'].flatMap(longFilesElsewhere);
    expect(elsewhere.sort()).toEqual(long);
    const thirds = ['1/3', '2/3', '3/3'].flatMap(longFilesElsewhere);
    expect(thirds.sort()).toEqual([...long, ...long].sort());
    expect(longFilesElsewhere(undefined)).toEqual([]);
  });

  test('a quick machine runs all, and a slow one a part that depends on the commit', () => {
    expect(chooseShare(40, 'ab3')).toEqual({ part: 1, parts: 1 });
    expect(chooseShare(100, 'ab2')).toEqual({ part: 1, parts: 2 });
    expect(chooseShare(100, 'ab3')).toEqual({ part: 2, parts: 2 });
    expect(chooseShare(500, '0002')).toEqual({ part: 3, parts: 3 });
  });

  test.each(['0/2', '3/2', 'half', 'auto'])('TEST_SHARE=%s is refused with what is possible', (text) => {
    expect(() => readShare(text)).toThrow('1/2 or 2/2');
  });
});
