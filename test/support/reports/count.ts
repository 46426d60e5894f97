/** Counts passed and failed tests in vitest's JSON report, and names the failed ones. Pure. */
import { stripVTControlCharacters } from 'node:util';

export interface Counts {
  passed: number;
  failed: number;
}

interface Report {
  testResults: FileResult[];
}

interface FileResult {
  name?: string;
  message?: string;
  status: string;
  assertionResults: { status: string; fullName?: string; failureMessages?: string[] }[];
}

const MAX_MESSAGE_LENGTH = 500;

/** A file that fails without a failed test, for example at its import, counts as one failure. */
export function countTests(json: string): Counts {
  const counts = { passed: 0, failed: 0 };
  for (const file of (JSON.parse(json) as Report).testResults) {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed').length;
    counts.passed += file.assertionResults.filter(({ status }) => status === 'passed').length;
    counts.failed += failed > 0 ? failed : Number(file.status === 'failed');
  }
  return counts;
}

/** A line for each failure that `countTests` counts: its file, its title, the beginning of its message. */
export function failuresIn(json: string): string[] {
  return (JSON.parse(json) as Report).testResults.flatMap((file) => {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length > 0) {
      return failed.map((test) => failure(file, test.fullName ?? '', test.failureMessages?.[0]));
    }
    return file.status === 'failed' ? [failure(file, 'the file itself', file.message)] : [];
  });
}

function failure(file: FileResult, title: string, message = 'no message'): string {
  const text = stripVTControlCharacters(message).replaceAll(/\s+/g, ' ').trim();
  return `${file.name}: ${title}: ${text.slice(0, MAX_MESSAGE_LENGTH)}`;
}
