/**
 * Decommission: empties a host that was removed from the cluster. Its services are started elsewhere, so none
 * of its containers may stay (CONT-10).
 */

import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import type { Agent } from './agent.ts';

const POLL_MS = 100;
/** Pause before an engine that failed to list its containers is called again. */
const RETRY_MS = 1000;

/**
 * Stops and removes every container of this deployment on this host. False if `signal` aborts before they are
 * gone.
 */
export async function decommission(
  agent: Pick<Agent, 'inventory' | 'sync' | 'isIdle' | 'refresh'>,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  log('host.decommissioning', { containers: agent.inventory().length });
  // Includes containers of unknown services: the control plane will never decide about them.
  agent.sync([]);
  // The inventory is not sufficient: it lacks containers that are being created, and retains keys that the
  // agent gave up.
  while (!signal.aborted) {
    if (agent.isIdle && (await isRefreshed(agent, log, signal)) && agent.isIdle) {
      log('host.decommissioned');
      return true;
    }
    await sleep(POLL_MS, signal);
  }
  return false;
}

/** Refreshes from the engine, which may have created a container although it answered with an error. */
async function isRefreshed(
  agent: Pick<Agent, 'refresh'>,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  const refreshed = agent.refresh().then(
    () => true,
    async (error: unknown) => {
      log('host.containers-unreadable', { reason: messageOf(error) });
      await sleep(RETRY_MS, signal);
      return false;
    },
  );
  return Promise.race([refreshed, aborted(signal)]);
}

/** Lets an agent that is stopped end at once, even if the engine hangs. */
const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener('abort', () => resolve(false), { once: true });
  });
