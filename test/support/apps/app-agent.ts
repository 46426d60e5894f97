/** An agent whose services are servers on loopback: its ports lead where a test says. */

import { Channels } from '../../../agent/channels/channels.ts';
import { portTargets } from '../../../agent/engine/streams/container-targets.ts';
import { encode } from '../../../shared/protocol/codec.ts';
import { ScriptedAgent } from '../agents/scripted-agent.ts';
import type { Host } from '../hosts/hosts.ts';

/** `portAt`: the port of loopback for a port of a container. */
export async function joinAppAgent(
  host: Host,
  name: string,
  portAt: (port: number) => number,
): Promise<ScriptedAgent> {
  const toPort = portTargets();
  const agent = await ScriptedAgent.join(host, { facts: { name } });
  agent.carrier = new Channels({
    output: {} as never,
    open: async (_, target) => {
      if (!('port' in target)) throw new Error(target.kind);
      return toPort({ id: name, ipAddress: '127.0.0.1' }, { ...target, port: portAt(target.port) });
    },
    send: (message) => agent.sendRaw(encode(message)),
    sendBytes: async (frame) => agent.sendRaw(frame),
  });
  return agent;
}
