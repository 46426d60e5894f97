/**
 * The relay on workerd from the client's socket to the application: the real Worker, gateway and coordinator.
 */
import { HttpTarget } from '../../../agent/engine/streams/http-target.ts';
import { Streams } from '../../../agent/streams/streams.ts';
import { encode } from '../../../shared/protocol/codec.ts';
import { ScriptedAgent, seen } from '../agents/scripted-agent.ts';
import { ApiClient } from '../clients/api-client.ts';
import { type MortalHost, startMortalHost } from '../hosts/workerd/host-mortal.ts';
import type { TestApp } from './app-request.ts';

export interface WorkerdAppRig {
  url: string;
  host: MortalHost;
  agent: ScriptedAgent;
  streams: Streams;
  service: Pick<TestApp, 'serviceId' | 'hostId'>;
  close(): Promise<void>;
}

export async function startWorkerdAppRig(): Promise<WorkerdAppRig> {
  const host = await startMortalHost({});
  const agent = await ScriptedAgent.join(host, { facts: { name: 'host1' } });
  const streams = new Streams({
    open: async (_, target) => {
      if (target.kind !== 'http') throw new Error(target.kind);
      return new HttpTarget('127.0.0.1', target.port);
    },
    send: (message) => agent.sendRaw(encode(message)),
    sendBytes: async (frame) => agent.sendRaw(frame),
  });
  agent.carrier = streams;
  const [assigned] = await agent.assigned(await new ApiClient(() => host).submit());
  if (!assigned) throw new Error('no assignment');
  await agent.report(seen.running(assigned));
  return {
    url: host.url(),
    host,
    agent,
    streams,
    service: { serviceId: assigned.service, hostId: 1 },
    async close() {
      await agent.close();
      await host.stop();
    },
  };
}
