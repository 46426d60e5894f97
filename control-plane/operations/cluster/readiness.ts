/** Owns the question whether requests can be served now. Anybody may ask; the answer holds nothing secret. */
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Shorter than the patience of most probes. */
const LIMIT_MS = 4_000;

/** Rejects with `unavailable`, naming what is missing. */
export async function checkReadiness({ db, coordinator }: Context, limitMs = LIMIT_MS): Promise<void> {
  const [isDatabaseUp, isCoordinatorReady] = await Promise.all([
    succeeds(db.query('SELECT 1 AS ready LIMIT 1'), limitMs),
    succeeds(coordinator.ready(), limitMs),
  ]);
  const missing = [
    ...(isDatabaseUp ? [] : ['the database does not answer']),
    ...(isCoordinatorReady ? [] : ['the coordinator does not have its state']),
  ];
  if (missing.length > 0) throw new OperationError('unavailable', `Not ready: ${missing.join('; ')}.`);
}

/** Whether it resolves within the limit. Why not is in the log of what failed, and no probe's business. */
function succeeds(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), limitMs);
    const settle = (success: boolean) => {
      clearTimeout(timer);
      resolve(success);
    };
    work.then(
      () => settle(true),
      () => settle(false),
    );
  });
}
