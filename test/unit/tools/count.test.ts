import { expect, test } from 'vitest';
import { countTests } from '../../support/tools/count.ts';

const report = (...files: [status: string, ...tests: string[]][]) =>
  JSON.stringify({
    testResults: files.map(([status, ...tests]) => ({
      status,
      assertionResults: tests.map((status) => ({ status })),
    })),
  });

test('passed and failed tests of all files are added up', () => {
  const json = report(['passed', 'passed', 'passed'], ['failed', 'failed', 'passed', 'failed']);
  expect(countTests(json)).toEqual({ passed: 3, failed: 2 });
});

test('a file that fails without a failed test counts as one failure', () => {
  expect(countTests(report(['failed'], ['failed', 'passed']))).toEqual({ passed: 1, failed: 2 });
});

test('a report without files counts nothing', () => {
  expect(countTests(report())).toEqual({ passed: 0, failed: 0 });
});
