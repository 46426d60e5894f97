/** Owns the end of a host that was removed: what ran here is started elsewhere now, so nothing of it may stay. */
import type { Agent } from './agent.ts';
import type { Journal } from './journal.ts';
import { pause } from './pause.ts';

const LOOK_MS = 100;

/** Stops and removes every container of this deployment on this host; false where `signal` aborts before they are gone. */
export async function leave(
  agent: Pick<Agent, 'inventory' | 'sync' | 'isIdle'>,
  journal: Journal,
  signal: AbortSignal,
): Promise<boolean> {
  journal('host.leaving', { containers: agent.inventory().length });
  // Also those that the control plane did not know: nobody is left who would decide about them.
  agent.sync([]);
  // The inventory would not do: it lacks what is being made, and keeps what a lease has ended.
  while (!signal.aborted) {
    if (agent.isIdle) {
      journal('host.left');
      return true;
    }
    await pause(LOOK_MS, signal);
  }
  return false;
}
