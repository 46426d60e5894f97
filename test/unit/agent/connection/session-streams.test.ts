/** Streams of a connection that its agent closes. */
import { expect, onTestFinished, test } from 'vitest';
import type { Target } from '../../../../agent/engine/streams/target.ts';
import { STREAM_NUMBERS } from '../../../../shared/streams/targets.ts';
import { agentRig, scratchDir } from '../../../support/agents/agent-rig.ts';
import { found } from '../../../support/agents/control-plane-peer.ts';
import { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LEASE_MS = 90_000;
const STREAM = STREAM_NUMBERS;

/** A target that never sends, and what it was given until it was disconnected. */
function silentTarget() {
  const events: string[] = [];
  const over = Promise.withResolvers<void>();
  const target: Target = {
    // biome-ignore lint/correctness/useYield: it sends nothing
    output: (async function* () {
      await over.promise;
    })(),
    write: async (bytes) => void events.push(new TextDecoder().decode(bytes)),
    end: () => {},
    exitCode: async () => undefined,
    resize: () => {},
    signal: () => {},
    destroy: () => {
      events.push('disconnected');
      over.resolve();
    },
  };
  return { target, events };
}

test('P310, C302: an agent that closes its connection for an expired lease gives no bytes of it to a stream any more', async () => {
  const scratch = await scratchDir();
  onTestFinished(scratch.remove);
  let uptimeMs = 1_000_000;
  const { target, events } = silentTarget();
  const rig = await agentRig(new FakeEngine(`${scratch.path}/engine`), {
    dataDir: `${scratch.path}/data`,
    now: () => ({ uptimeMs, wallMs: uptimeMs }),
    openTarget: async () => target,
  });
  onTestFinished(rig.close);
  const connection = await rig.peer.connection();
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
