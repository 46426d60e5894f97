/** Counts of requests at the host names of web applications, in one process or isolate. */
import { byLabel, counter, type Family } from './family.ts';

/**
 * What became of a request: `passed` to the application; it is not up (`waiting`) or will never be again
 * (`ended`); the browser was sent to the login or let in (`log-in`); no valid cookie (`unauthenticated`);
 * another site has caused it, or it is of no kind that passes (`refused`); no such application (`unknown`);
 * an error (`failed`).
 */
const results = [
  'passed',
  'waiting',
  'ended',
  'log-in',
  'unauthenticated',
  'refused',
  'unknown',
  'failed',
] as const;
export type AppResult = (typeof results)[number];

export class AppCounts {
  readonly #counts = Object.fromEntries(results.map((result) => [result, 0])) as Record<AppResult, number>;

  count(result: AppResult): void {
    this.#counts[result] += 1;
  }

  family(): Family {
    return counter(
      'berth_app_requests_total',
      'Requests at the host names of web applications, by what became of them.',
      byLabel('result', this.#counts),
    );
  }
}
