import { expect, test } from 'vitest';
import { releaseProblems } from '../../../release/problems.ts';

const ready = { version: '1.2.3', changelog: '# Changelog\n\n## [1.2.3] - 2026-11-30\n', status: '' };

test('L86: a release needs a dated section of the changelog, and a checkout that equals its commit', () => {
  expect(releaseProblems(ready)).toEqual([]);
  const status = ['a', 'b', 'c', 'd', 'e'].map((name) => ` M ${name}\n`).join('');
  for (const [changes, problem] of [
    [{ version: '1.2.4' }, /no section "## \[1\.2\.4\]": write/],
    [{ changelog: '## [1.2.3] - unreleased\n' }, /has no date: put/],
    [{ status }, /a, b, c, 2 more: commit these files/],
  ] as const)
    expect(releaseProblems({ ...ready, ...changes })).toEqual([expect.stringMatching(problem)]);
});
