import { beforeEach, expect, test } from 'vitest';
import { MIN_WINDOW_BYTES, TOTAL_WINDOW_BYTES } from '../../../../control-plane/core/streams/log-windows.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { encodeChunk, LOG_CHUNK_BYTES, MAX_LOG_STREAMS } from '../../../../shared/protocol/codec.ts';
import { owner } from '../../../support/rigs/coordinator-rig.ts';
import { type GatewayAgent, GatewayRig } from '../../../support/rigs/gateway-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LENGTH = 2 ** 18;

let rig: GatewayRig;
beforeEach(async () => {
  rig = await GatewayRig.open();
});

/** Bytes that may be sent on a stream, from its first one on. */
const granted = ({ socket }: GatewayAgent, stream: number): number =>
  [...socket.all('logs.open').map((open) => ({ ...open, bytes: open.credit })), ...socket.all('logs.credit')]
    .filter((message) => message.stream === stream)
    .reduce((sum, { bytes }) => sum + bytes, 0);

const output = Uint8Array.from({ length: LENGTH }, (_, at) => (at * 7919) % 251);

test('P9, P174: with little memory left, a reader gets every byte, in order', async () => {
  const { agent, assignment } = await rig.starts();
  // Windows of readers who came before, of each size.
  while (rig.windows.take() > MIN_WINDOW_BYTES) {
    const stream = await rig.openLog(owner, assignment.service, 'raw');
    const opened = () => agent.socket.all('logs.open').at(-1)?.stream ?? 0;
    const number = await eventually(opened);
    let sent = 0;
    const send = () => {
      const bytes = Math.min(LOG_CHUNK_BYTES, granted(agent, number) - sent, LENGTH - sent);
      if (bytes <= 0) return;
      const payload = output.slice(sent, sent + bytes);
      sent += bytes;
      agent.connection.receive(encodeChunk({ stream: number, next: sent, payload }));
    };
    const reader = stream.getReader();
    const received: Uint8Array[] = [];
    for (let length = 0; length < LENGTH; ) {
      send();
      const { value = new Uint8Array() } = await reader.read();
      length += value.byteLength;
      received.push(value);
    }
    expect(Buffer.concat(received).equals(output)).toBe(true);
    await reader.cancel();
  }
});

test('P9: readers who stall hold a bounded part of the memory of the gateway, however many they are', async () => {
  const { agent, assignment } = await rig.starts();
  for (let n = 0; n < MAX_LOG_STREAMS; n++) await openStalled(agent, assignment, n + 1);
  const streams = agent.socket.all('logs.open').map(({ stream }) => stream);
  const held = streams.reduce((sum, stream) => sum + granted(agent, stream), 0);
  expect(held).toBeLessThan(TOTAL_WINDOW_BYTES + MAX_LOG_STREAMS * MIN_WINDOW_BYTES);
});

/** Without the windows of the Worker's isolate, as if each reader had one of its own. */
async function openStalled(agent: GatewayAgent, { service, generation }: Assignment, count: number) {
  const at = { connection: agent.id, sent: 0 };
  await rig.gateway.openLog(at, `reader ${count}`, { service, generation }, 0, 'raw', 2 ** 18);
  await eventually(() => agent.socket.all('logs.open').length === count);
}
