import { expect, test } from 'vitest';
import { noTraffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { FRAME_HEADER_BYTES } from '../../../shared/streams/log-frames.ts';
import { CHUNK_BYTES, WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { RelayRig, settle } from '../../support/rigs/log-relay.ts';

test('P9: a channel opens with a window of credit, and gets no more while nothing is read', async () => {
  const rig = new RelayRig().attach();
  const target = { kind: 'output', offset: 0, format: 'raw' };
  const opened = { channel: 200, service: 7, generation: 1, target, credit: WINDOW_BYTES };
  expect(rig.opens).toEqual([{ type: 'channel.open', ...opened }]);
  for (let sent = CHUNK_BYTES; sent <= WINDOW_BYTES; sent += CHUNK_BYTES) {
    rig.send(sent, CHUNK_BYTES);
    await settle();
  }
  expect(rig.granted).toBe(WINDOW_BYTES);
});

/** What so many bytes of output take of the credit in one frame. */
const inFrame = (bytes = 0) => FRAME_HEADER_BYTES + bytes;

test('P9: the granted bytes never exceed the read bytes by more than a window', async () => {
  const rig = new RelayRig({ generation: 1, offset: 0 }).attach();
  const reader = rig.relay.stream.getReader();
  let read = 0;
  let sent = 0;
  for (let round = 0; round < 200; round++) {
    const size = Math.min(inFrame(1 + ((round * 7919) % (CHUNK_BYTES - inFrame()))), rig.granted - sent);
    if (size > inFrame()) {
      sent += size;
      rig.send(sent, size);
    }
    if (round % 3 !== 0 && sent > read) read += (await reader.read()).value?.byteLength ?? 0;
    await settle();
    expect(rig.granted).toBeLessThanOrEqual(read + WINDOW_BYTES);
    expect(rig.granted).toBeGreaterThanOrEqual(sent);
  }
  expect(read).toBeGreaterThan(4 * WINDOW_BYTES);
});

test('P9: a subscriber that waits is granted more', async () => {
  const rig = new RelayRig().attach();
  const reader = rig.relay.stream.getReader();
  let read = 0;
  for (let sent = 0; sent < 4 * WINDOW_BYTES; ) {
    const waiting = reader.read();
    expect(rig.granted).toBeGreaterThan(sent);
    const size = Math.min(CHUNK_BYTES, rig.granted - sent);
    sent += size;
    rig.send(sent, size);
    read += inFrame((await waiting).value?.byteLength);
    await settle();
  }
  expect(read).toBe(4 * WINDOW_BYTES);
});

test('P178: an agent that must collect for another time is told after its next part, once, and its credit stays', async () => {
  const count = noTraffic();
  const rig = new RelayRig(undefined, count).attach();
  const collected = () => rig.socket.all('collect').map(({ ms }) => ms);
  for (const [open, times] of [
    [100, [200]],
    [100, [200]],
    [15, [200, 40]],
    [1, [200, 40, 0]],
  ] as const) {
    count.open = open;
    expect(collected()).toEqual(times.slice(0, collected().length));
    rig.send(10, CHUNK_BYTES / 4);
    expect(collected()).toEqual(times);
  }
  await settle();
  expect(rig.granted).toBe(WINDOW_BYTES);
});

test('P9: reconnects do not add to the cost of a stalled subscriber', async () => {
  const rig = new RelayRig({ generation: 1, offset: 0 }).attach();
  let sent = 0;
  for (let connection = 0; connection < 20; connection++) {
    const credit = rig.granted;
    for (let left = credit; left > 0; left -= CHUNK_BYTES) {
      sent += CHUNK_BYTES;
      rig.send(sent, CHUNK_BYTES);
    }
    await settle();
    rig.connection?.closed();
    rig.attach();
  }
  expect(sent).toBe(WINDOW_BYTES);
  const reader = rig.relay.stream.getReader();
  for (let read = 0; read < WINDOW_BYTES; )
    read += (await reader.read()).value?.byteLength ?? Number.POSITIVE_INFINITY;
  await settle();
  expect(rig.opens).toMatchObject([{ target: { offset: WINDOW_BYTES } }]);
  expect(rig.granted).toBe(WINDOW_BYTES);
});

test('P9, P12: output beyond the credit is refused, and ends the connection', async () => {
  const rig = new RelayRig({ generation: 1, offset: 0 }).attach();
  for (let sent = CHUNK_BYTES; sent <= WINDOW_BYTES; sent += CHUNK_BYTES) rig.send(sent, CHUNK_BYTES);
  expect(rig.refused).toEqual([]);
  rig.send(WINDOW_BYTES + 1, inFrame(1));
  expect(rig.refused).toEqual([expect.stringContaining('beyond the credit')]);
  expect(rig.socket.closeCode).toBe(4400);
  rig.know({ removed: true, generation: 0, final: true });
  expect((await new Response(rig.relay.stream).arrayBuffer()).byteLength).toBe(WINDOW_BYTES);
});
