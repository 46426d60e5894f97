/** Updates an agent, and follows it until it is done. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Hosts } from './resources.ts';

const POLL_MS = 500;
/** Longer than an agent takes to fetch its bundle, to try it, and to be started again. */
const MAX_WAIT_MS = 15 * 60_000;

/**
 * Resolves to the version that the agent has then; `isNew` is false if it had that version before. Throws an
 * error with the reason if the agent keeps its version.
 */
export async function updateAgent(hosts: Hosts, id: number): Promise<{ version: string; isNew: boolean }> {
  const { version, requested } = await hosts.requestUpdate(id);
  const untilMs = performance.now() + MAX_WAIT_MS;
  for (;;) {
    const { agent_version, connected, conditions } = await hosts.get(id);
    if (agent_version === version && connected) return { version, isNew: requested };
    const failure = conditions.find(({ kind }) => kind === 'update-failed');
    if (failure) throw new Error(failure.text);
    if (performance.now() > untilMs)
      throw new Error(`The agent has neither version ${version} nor said why not: see its log on the host.`);
    await pause(POLL_MS);
  }
}
