/** Owns how vitest's JSON report becomes two numbers. Pure. */

export interface Counts {
  passed: number;
  failed: number;
}

interface Report {
  testResults: { status: string; assertionResults: { status: string }[] }[];
}

/** Passed and failed tests; a file that failed as a whole, before or beside its tests, counts as one failure. */
export function countTests(json: string): Counts {
  const counts = { passed: 0, failed: 0 };
  for (const file of (JSON.parse(json) as Report).testResults) {
    const failed = file.assertionResults.filter(({ status }) => status === 'failed').length;
    counts.passed += file.assertionResults.filter(({ status }) => status === 'passed').length;
    counts.failed += failed > 0 ? failed : Number(file.status === 'failed');
  }
  return counts;
}
