import { expect, test } from 'vitest';
import { noTraffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { LOG_CHUNK_BYTES, LOG_WINDOW_BYTES } from '../../../shared/protocol/codec.ts';
import { RelayRig, settle } from '../../support/rigs/log-relay.ts';

test('P9: a stream opens with a window of credit, and gets no more while nothing is read', async () => {
  const rig = new RelayRig().attach();
  const log = { stream: 200, service: 7, generation: 1, offset: 0, format: 'raw' };
  expect(rig.opens).toEqual([{ type: 'logs.open', ...log, credit: LOG_WINDOW_BYTES }]);
  for (let sent = LOG_CHUNK_BYTES; sent <= LOG_WINDOW_BYTES; sent += LOG_CHUNK_BYTES) {
    rig.send(sent, LOG_CHUNK_BYTES);
    await settle();
  }
  expect(rig.granted).toBe(LOG_WINDOW_BYTES);
});

test('P9: the granted bytes never exceed the read bytes by more than a window', async () => {
  const rig = new RelayRig().attach();
  const reader = rig.relay.stream.getReader();
  let read = 0;
  let sent = 0;
  for (let round = 0; round < 200; round++) {
    const size = Math.min(1 + ((round * 7919) % LOG_CHUNK_BYTES), rig.granted - sent);
    if (size > 0) {
      sent += size;
      rig.send(sent, size);
    }
    if (round % 3 !== 0 && sent > read) read += (await reader.read()).value?.byteLength ?? 0;
    await settle();
    expect(rig.granted).toBeLessThanOrEqual(read + LOG_WINDOW_BYTES);
    expect(rig.granted).toBeGreaterThanOrEqual(sent);
  }
  expect(read).toBeGreaterThan(4 * LOG_WINDOW_BYTES);
});

test('P9: a subscriber that waits with its own buffer is granted more', async () => {
  const rig = new RelayRig().attach();
  const reader = rig.relay.stream.getReader({ mode: 'byob' });
  let read = 0;
  for (let sent = 0; sent < 4 * LOG_WINDOW_BYTES; ) {
    const waiting = reader.read(new Uint8Array(LOG_CHUNK_BYTES));
    expect(rig.granted).toBeGreaterThan(sent);
    const size = Math.min(LOG_CHUNK_BYTES, rig.granted - sent);
    sent += size;
    rig.send(sent, size);
    read += (await waiting).value?.byteLength ?? 0;
    await settle();
  }
  expect(read).toBe(4 * LOG_WINDOW_BYTES);
});

test('P178: an agent that must collect for longer gets whatever credit is free, and never more than a window', async () => {
  const count = noTraffic();
  const rig = new RelayRig(undefined, count).attach();
  const reader = rig.relay.stream.getReader();
  count.open = 100;
  rig.send(LOG_WINDOW_BYTES / 2, LOG_WINDOW_BYTES / 2);
  rig.send(LOG_WINDOW_BYTES, LOG_WINDOW_BYTES / 2);
  expect(rig.socket.all('logs.credit')).toEqual([]);
  await reader.read();
  await settle();
  const [{ bytes = 0, ...credit } = {}] = rig.socket.all('logs.credit');
  expect(credit).toEqual({ type: 'logs.credit', stream: rig.stream, collectMs: 200 });
  expect(bytes).toBe(LOG_WINDOW_BYTES / 2);
  await reader.read();
  const waiting = reader.read();
  count.open = 15;
  rig.send(LOG_WINDOW_BYTES + 10, 10);
  await waiting;
  await settle();
  const last = rig.socket.all('logs.credit').at(-1);
  expect(last).toMatchObject({ collectMs: 40 });
  expect(rig.granted).toBe(2 * LOG_WINDOW_BYTES + 10);
  const sent = rig.socket.all('logs.credit').length;
  const next = reader.read();
  rig.send(LOG_WINDOW_BYTES + 20, 10);
  await next;
  expect(rig.socket.all('logs.credit')).toHaveLength(sent);
});

test('P9: reconnects do not add to the cost of a stalled subscriber', async () => {
  const rig = new RelayRig().attach();
  let sent = 0;
  for (let connection = 0; connection < 20; connection++) {
    const credit = rig.granted;
    for (let left = credit; left > 0; left -= LOG_CHUNK_BYTES) {
      sent += LOG_CHUNK_BYTES;
      rig.send(sent, LOG_CHUNK_BYTES);
    }
    await settle();
    rig.connection?.closed();
    rig.attach();
  }
  expect(sent).toBe(LOG_WINDOW_BYTES);
  const reader = rig.relay.stream.getReader();
  for (let read = 0; read < LOG_WINDOW_BYTES; )
    read += (await reader.read()).value?.byteLength ?? Number.POSITIVE_INFINITY;
  await settle();
  expect(rig.opens).toMatchObject([{ offset: LOG_WINDOW_BYTES }]);
  expect(rig.granted).toBe(LOG_WINDOW_BYTES);
});

test('P9, P12: log data beyond the credit is refused, and ends the connection', async () => {
  const rig = new RelayRig().attach();
  for (let sent = LOG_CHUNK_BYTES; sent <= LOG_WINDOW_BYTES; sent += LOG_CHUNK_BYTES)
    rig.send(sent, LOG_CHUNK_BYTES);
  expect(rig.refused).toEqual([]);
  rig.send(LOG_WINDOW_BYTES + 1, 1);
  expect(rig.refused).toEqual(['more log data than its credit']);
  const reader = rig.relay.stream.getReader({ mode: 'byob' });
  const { value } = await reader.read(new Uint8Array(2 * LOG_WINDOW_BYTES));
  expect(value?.byteLength).toBe(LOG_WINDOW_BYTES);
});
