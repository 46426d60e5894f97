import { globSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { chooseShare, longFilesElsewhere, readShare } from '../../support/tools/share.ts';

describe('shares of the long tests', () => {
  test('each long file is in exactly one half, and all run without a share', () => {
    const long = globSync('test/{api,browser,contract,e2e}/**/*.test.ts').sort();
    const elsewhere = ['1/2', '2/2'].flatMap(longFilesElsewhere);
    expect(elsewhere.sort()).toEqual(long);
    expect(longFilesElsewhere(undefined)).toEqual([]);
  });

  test('a quick machine runs all, and a slow one a half that depends on the commit alone', () => {
    expect(chooseShare(40, 'ab3')).toEqual({ part: 1, parts: 1 });
    expect(chooseShare(100, 'ab2')).toEqual({ part: 1, parts: 2 });
    expect(chooseShare(100, 'ab3')).toEqual({ part: 2, parts: 2 });
  });

  test.each(['0/2', '3/2', 'half', 'auto'])('TEST_SHARE=%s is refused with what is possible', (text) => {
    expect(() => readShare(text)).toThrow('1/2 or 2/2');
  });
});
