import { expect, test } from 'vitest';
import { slowestFiles } from '../../support/reports/slowest.ts';

const report = (...files: [name: string, seconds: number][]) =>
  JSON.stringify({
    testResults: files.map(([name, seconds]) => ({
      name: `/berth/test/${name}`,
      startTime: 1_000,
      endTime: 1_000 + 1_000 * seconds,
    })),
  });

test('the files of all reports that took longest are listed with their seconds, the longest first', () => {
  const reports = [report(['api/a.test.ts', 2], ['api/b.test.ts', 0.04]), report(['e2e/c.test.ts', 123.45])];
  expect(slowestFiles(reports, 2, '/berth')).toEqual([
    '  123.5 s  test/e2e/c.test.ts',
    '    2.0 s  test/api/a.test.ts',
  ]);
});

test('fewer files than wanted are all listed, and a report without files adds none', () => {
  const reports = [report(), report(['api/b.test.ts', 0])];
  expect(slowestFiles(reports, 10, '/berth')).toEqual(['    0.0 s  test/api/b.test.ts']);
});
