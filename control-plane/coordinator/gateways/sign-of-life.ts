/** Tells reports that only show that an agent lives from those with news. Pure. */
import type { SessionMessage } from '../connections/agent-connection.ts';

/** What a message says of the host itself, as text. */
export const factsOf = ({ conditions = [], swarm }: SessionMessage): string =>
  JSON.stringify([conditions, swarm]);

/**
 * A report of nothing but the usage of the host (P177). Agents repeat in it what they have said of the host,
 * which `facts` has from the message before.
 */
export function isSignOfLife(message: SessionMessage, facts: string | undefined): boolean {
  if (message.type !== 'report' || message.observations.length + message.forgotten.length > 0) return false;
  const isSilent = message.conditions === undefined && message.swarm === undefined;
  return isSilent || factsOf(message) === facts;
}
