/** Counts passed and failed tests in vitest's JSON report. Pure. */

export interface Counts {
  passed: number;
  failed: number;
}

interface Report {
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

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
