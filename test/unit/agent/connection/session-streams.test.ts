/** Streams of a connection that its agent closes. */
import { expect, test } from 'vitest';
import { STREAM_NUMBERS } from '../../../../shared/streams/targets.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { found } from '../../../support/agents/control-plane-peer.ts';
import { outputOf, target } from '../../../support/fixtures/targets.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LEASE_MS = 90_000;
const STREAM = STREAM_NUMBERS;

test('P310, C302: an agent that closes its connection for an expired lease gives no bytes of it to a stream any more', async () => {
  let uptimeMs = 1_000_000;
  const events: string[] = [];
  const over = Promise.withResolvers<void>();
  const silent = target({
    output: outputOf([], over.promise),
    write: async (bytes) => void events.push(new TextDecoder().decode(bytes)),
    destroy: () => {
      events.push('disconnected');
      over.resolve();
    },
  });
  const now = () => ({ uptimeMs, wallMs: uptimeMs });
  const connection = await new AgentMachine({ now, openTarget: async () => silent }).begin();
  connection.welcome([], { leaseMs: LEASE_MS });
  connection.send({
    ...{ type: 'stream.open', stream: STREAM, service: 1, generation: 1, credit: 1024 },
    target: { kind: 'tcp', port: 80 },
  });
  await found(() => connection.messages.find(({ type }) => type === 'stream.opened'));
  let next = 0;
  const send = (text: string) => {
    const payload = new TextEncoder().encode(text);
    next += payload.length;
    connection.sendChunk({ stream: STREAM, next, payload });
  };
  send('before');
  await eventually(() => expect(events).toEqual(['before']));
  uptimeMs += LEASE_MS;
  // All three leave this side before the close of the agent arrives.
  for (const text of ['first', 'second', 'third']) send(text);
  await eventually(() => expect(events).toContain('disconnected'));
  expect(events).toEqual(['before', 'disconnected']);
});
