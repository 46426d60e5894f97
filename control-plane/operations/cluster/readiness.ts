/** Checks whether requests can be served now. Public; the answer holds no secrets. */
import { OperationError, StandbyError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Shorter than the timeout of most probes. */
const LIMIT_MS = 4_000;

/** Rejects with `unavailable` and the names of what is missing. */
export async function checkReadiness(
  { db, coordinator }: Pick<Context, 'db' | 'coordinator'>,
  limitMs = LIMIT_MS,
): Promise<void> {
  const [database, state] = await Promise.all([
    failureOf(db.query('SELECT 1 AS ready LIMIT 1'), limitMs),
    failureOf(coordinator.ready(), limitMs),
  ]);
  const missing = [
    ...(database === undefined ? [] : ['the database does not answer']),
    ...(state === undefined ? [] : [absenceOf(state)]),
  ];
  if (missing.length > 0) throw new OperationError('unavailable', `Not ready: ${missing.join('; ')}.`);
}

const absenceOf = (error: unknown): string =>
  error instanceof StandbyError
    ? `this control plane is a standby, and ${error.why}`
    : 'the coordinator has not loaded its state';

/** Resolves to the error or timeout of the work, or to undefined. The failed part logs its own reason. */
function failureOf(work: Promise<unknown>, limitMs: number): Promise<unknown> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(new Error('timeout')), limitMs);
    const settle = (failure: unknown) => {
      clearTimeout(timer);
      resolve(failure);
    };
    work.then(
      () => settle(undefined),
      (error: unknown) => settle(error),
    );
  });
}
