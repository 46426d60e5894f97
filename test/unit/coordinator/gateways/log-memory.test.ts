import { beforeEach, expect, test } from 'vitest';
import { WINDOW_BYTES_OF_OBJECT } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import type { PassedChannel } from '../../../../control-plane/coordinator/gateways/passed-channel.ts';
import { encodeFrame, FRAME_HEADER_BYTES } from '../../../../shared/streams/log-frames.ts';
import { MAX_CHANNELS, MAX_WINDOW_BYTES, WINDOW_BYTES } from '../../../../shared/streams/targets.ts';
import { CONNECTION_WINDOW_BYTES, LEAST_WINDOW_BYTES } from '../../../../shared/streams/window.ts';
import { owner } from '../../../support/rigs/coordinator-rig.ts';
import { type GatewayAgent, GatewayRig } from '../../../support/rigs/gateway-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const LENGTH = 2 ** 18;
/** Agents send lines of up to this length as a whole, here without the times of lines. */
const LINE_BYTES = 16 * 1024;

let rig: GatewayRig;
beforeEach(async () => {
  rig = await GatewayRig.open();
});

/** Bytes that may be sent on a channel, from its beginning on. */
const granted = ({ socket }: GatewayAgent, channel: number): number =>
  [
    ...socket.all('channel.open').map((open) => ({ ...open, bytes: open.credit })),
    ...socket.all('channel.credit'),
  ]
    .filter((message) => message.channel === channel)
    .reduce((sum, { bytes }) => sum + bytes, 0);

const KEY = { service: 1, generation: 1 };
const output = Uint8Array.from({ length: LENGTH }, (_, at) => (at * 7919) % 251);

test.each([
  ['its reader', () => {}],
  ['its reader and the gateway', (agent: GatewayAgent) => fillGateway(agent)],
])(
  'P9, P174: with little memory left for %s, a log passes every byte, in order, in lines as long as can be',
  async (_, fill) => {
    const { agent, assignment } = await rig.starts();
    await fill(agent);
    // Windows of readers who came before.
    for (const windowBytes of [WINDOW_BYTES, 40_000, LEAST_WINDOW_BYTES]) {
      rig.memory.use(rig.memory.freeBytes - 256 * windowBytes);
      const stream = await rig.openLog(owner, assignment.service, 'raw');
      const { channel, service, generation } = agent.socket.all('channel.open').at(-1) ?? {
        channel: 0,
        ...KEY,
      };
      const frameBytes = FRAME_HEADER_BYTES + LINE_BYTES;
      const writing = async () => {
        for (let lines = 1; lines <= LENGTH / LINE_BYTES; lines++) {
          while (granted(agent, channel) < lines * frameBytes) await new Promise(setImmediate);
          const position = { generation, offset: lines * LINE_BYTES };
          const payload = output.slice(position.offset - LINE_BYTES, position.offset);
          agent.chunk(channel, encodeFrame({ service, position, payload }));
        }
      };
      const written = writing();
      const reader = stream.getReader();
      const received: Uint8Array[] = [];
      for (let lines = 0; lines < LENGTH / LINE_BYTES; lines++)
        received.push((await reader.read()).value ?? new Uint8Array());
      await written;
      expect(Buffer.concat(received).equals(output)).toBe(true);
      await reader.cancel();
    }
  },
);

test('P9: readers who stall hold a bounded part of the memory of the gateway, however many they are', async () => {
  const { agent } = await rig.starts();
  await fillGateway(agent, MAX_CHANNELS);
  const channels = agent.socket.all('channel.open').map(({ channel }) => channel);
  const held = channels.reduce((sum, channel) => sum + granted(agent, channel), 0);
  expect(channels).toHaveLength(MAX_CHANNELS);
  expect(held).toBeLessThanOrEqual(WINDOW_BYTES_OF_OBJECT + MAX_CHANNELS * WINDOW_BYTES);
  expect(held).toBeGreaterThan(CONNECTION_WINDOW_BYTES / 2);
});

/** Without the windows of the Worker's isolate, as if each reader had one of its own. */
async function fillGateway(agent: GatewayAgent, count = MAX_CHANNELS - 1) {
  const at = { connection: agent.id, sent: 0 };
  const target = { kind: 'output', offset: 0, format: 'raw' } as const;
  const request = { at, key: KEY, target, credit: WINDOW_BYTES };
  const more = JSON.stringify({ type: 'channel.credit', bytes: MAX_WINDOW_BYTES });
  for (let n = 0; n < count; n++) {
    const passed = await rig.gateway.pass(request, () => ({ send: () => {}, close: () => {} }));
    (passed as PassedChannel).receive(more);
  }
  await eventually(() => agent.socket.all('channel.open').length === count);
}
