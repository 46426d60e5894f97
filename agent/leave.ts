/** Owns the end of a host that was removed: what ran here is started elsewhere now, so nothing of it may stay. */
import type { Agent } from './agent.ts';
import type { Journal } from './journal.ts';
import { pause } from './pause.ts';

const LOOK_MS = 100;

/** Stops and removes every container of this deployment on this host; false where `signal` aborts before they are gone. */
export async function leave(agent: Agent, journal: Journal, signal: AbortSignal): Promise<boolean> {
  const left = () => agent.inventory().length;
  journal('host.leaving', { containers: left() });
  // Also those that the control plane did not know: nobody is left who would decide about them.
  agent.sync([]);
  while (left() > 0 && !signal.aborted) await pause(LOOK_MS, signal);
  journal('host.left', { containers: left() });
  return left() === 0;
}
