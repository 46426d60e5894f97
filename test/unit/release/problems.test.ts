import { expect, test } from 'vitest';
import { releaseProblems } from '../../../release/problems.ts';

const ready = { version: '1.2.3', changelog: '# Changelog\n\n## [1.2.3] - 2026-11-30\n', status: '' };

test('L86: a committed checkout whose changelog has the dated version is ready', () => {
  expect(releaseProblems(ready)).toEqual([]);
});

test('L86: a release needs a section of the changelog, with a date', () => {
  expect(releaseProblems({ ...ready, version: '1.2.4' })).toEqual([
    expect.stringMatching(/no section "## \[1\.2\.4\]": write/),
  ]);
  expect(releaseProblems({ ...ready, changelog: '## [1.2.3] - unreleased\n' })).toEqual([
    expect.stringMatching(/has no date: put/),
  ]);
});

test('L86: a release needs a checkout that equals its commit, and the first files that differ are named', () => {
  const status = ['a', 'b', 'c', 'd', 'e'].map((name) => ` M ${name}\n`).join('');
  expect(releaseProblems({ ...ready, status })).toEqual([
    expect.stringContaining('a, b, c, 2 more: commit these files'),
  ]);
});
