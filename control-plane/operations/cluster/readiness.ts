/** Checks whether requests can be served now. Public; the answer holds no secrets. */
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Shorter than the timeout of most probes. */
const LIMIT_MS = 4_000;

/** Rejects with `unavailable` and the names of what is missing. */
export async function checkReadiness({ db, coordinator }: Context, limitMs = LIMIT_MS): Promise<void> {
  const [isDatabaseUp, isCoordinatorReady] = await Promise.all([
    succeeds(db.query('SELECT 1 AS ready LIMIT 1'), limitMs),
    succeeds(coordinator.ready(), limitMs),
  ]);
  const missing = [
    ...(isDatabaseUp ? [] : ['the database does not answer']),
    ...(isCoordinatorReady ? [] : ['the coordinator has not loaded its state']),
  ];
  if (missing.length > 0) throw new OperationError('unavailable', `Not ready: ${missing.join('; ')}.`);
}

/** False on failure or timeout. The failed part logs its own reason. */
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
