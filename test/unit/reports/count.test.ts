import { expect, test } from 'vitest';
import { countTests, failuresIn } from '../../support/reports/count.ts';

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

test('every counted failure has a line with its file, its title and its message', () => {
  const failed = (name: string, ...titles: string[]) => ({
    name,
    status: 'failed',
    message: titles.length > 0 ? '' : 'Cannot find module',
    assertionResults: titles.map((fullName) => ({
      status: fullName.startsWith('ok') ? 'passed' : 'failed',
      fullName,
      failureMessages: ['\u001b[31mAssertionError\u001b[39m: 1 is\n  not 2'],
    })),
  });
  const json = JSON.stringify({
    testResults: [failed('a.test.ts', 'ok one', 'H1: two'), failed('b.test.ts')],
  });
  expect(failuresIn(json)).toEqual([
    'a.test.ts: H1: two: AssertionError: 1 is not 2',
    'b.test.ts: the file itself: Cannot find module',
  ]);
  expect(countTests(json).failed).toBe(2);
});
