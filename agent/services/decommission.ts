/** Owns the end of a host that was removed: what ran here is started elsewhere now, so nothing of it may stay. */

import { type Logger, messageOf } from '../logger.ts';
import { sleep } from '../sleep.ts';
import type { Agent } from './agent.ts';

const POLL_MS = 100;
/** Before an engine that did not tell what there is is asked again. */
const RETRY_MS = 1000;

/** Stops and removes every container of this deployment on this host; false where `signal` aborts before they are gone. */
export async function decommission(
  agent: Pick<Agent, 'inventory' | 'sync' | 'isIdle' | 'refresh'>,
  log: Logger,
  signal: AbortSignal,
): Promise<boolean> {
  log('host.decommissioning', { containers: agent.inventory().length });
  // Also those that the control plane did not know: nobody is left who would decide about them.
  agent.sync([]);
  // The inventory would not do: it lacks what is being made, and keeps what a lease has ended.
  while (!signal.aborted) {
    if (agent.isIdle && (await isRefreshed(agent, log, signal)) && agent.isIdle) {
      log('host.decommissioned');
      return true;
    }
    await sleep(POLL_MS, signal);
  }
  return false;
}

/** The engine may have made what it answered with an error, and nobody has looked since. */
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

/** An engine that hangs keeps nobody from ending who is told to. */
const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve(false);
    else signal.addEventListener('abort', () => resolve(false), { once: true });
  });
