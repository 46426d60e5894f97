/** Clients' WebSockets of streams on Node, when many tiny frames arrive at once. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { OpenChannels } from '../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../control-plane/coordinator/connections/traffic.ts';
import { nodeClock } from '../../../control-plane/coordinator/runtime/node-clock.ts';
import { defaultStreamRules } from '../../../control-plane/core/model/stream-rules.ts';
import { serveStreams } from '../../../control-plane/server/stream-sockets.ts';
import { STREAM_SUBPROTOCOL } from '../../../shared/streams/client-messages.ts';
import { WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { ADMIN_SUBSCRIBER } from '../../support/apps/app-request.ts';
import { PLACED, ScriptedPlacement } from '../../support/rigs/scripted-placement.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** The opcodes of binary frames, and of those that continue one. The first bit is set in the last frame. */
const [BINARY, MORE, LAST] = [0x02, 0x00, 0x80];

/** A frame of one byte, under a mask of zeros. */
const frame = (first: number) => Buffer.from([first, 0x81, 0, 0, 0, 0, 0x78]);
const times = (count: number, one: Buffer) => Buffer.concat(Array.from({ length: count }, () => one));

/** Serves streams to an agent that grants one window. `took` is called for each chunk for the agent. */
async function serve(took: () => void, isBehind = () => false): Promise<() => Promise<WebSocket>> {
  const channels: OpenChannels = new OpenChannels({
    sendText: (message) => {
      if (message.type !== 'channel.open') return;
      const { channel } = message;
      setImmediate(() => channels.receive({ type: 'channel.opened', channel, credit: WINDOW_BYTES }));
    },
    sendBytes: took,
    isBehind,
    refused: (what) => expect.unreachable(what),
    traffic: noTraffic(),
  });
  const request = { purpose: 'forward', subscriber: ADMIN_SUBSCRIBER, serviceId: 1, hostId: 1 } as const;
  const doer = { by: 'admin', userId: 1, credential: 'session', from: null, requestId: null } as never;
  const server = createServer();
  const end = serveStreams(
    server,
    (_, env) => {
      (env as { upgrade: { accepted?: unknown } }).upgrade.accepted = { ...request, doer };
      return new Response();
    },
    {
      clock: nodeClock(() => {}),
      rules: defaultStreamRules,
      place: async () => new ScriptedPlacement(PLACED),
      channelsAt: async () => channels,
    },
    () => {},
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    end();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return async () => {
    const url = `ws://127.0.0.1:${port}/api/0.7/service/1/forward`;
    const socket = new WebSocket(url, STREAM_SUBPROTOCOL);
    onTestFinished(() => socket.terminate());
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'forward', port: 80 }));
    await once(socket, 'message');
    return socket;
  };
}

/** Bytes that no WebSocket client would write. */
const write = (socket: WebSocket, bytes: Buffer) =>
  void (socket as unknown as { _socket: { write(bytes: Buffer): void } })._socket.write(bytes);

test('H781: of frames that arrive at once, a stream gets one in a turn of the event loop', async () => {
  let [all, inTurn, most] = [0, 0, 0];
  const open = await serve(() => {
    all += 1;
    if (inTurn === 0)
      setImmediate(() => {
        inTurn = 0;
      });
    inTurn += 1;
    most = Math.max(most, inTurn);
  });
  const sockets = [await open(), await open()];
  const count = 5_000;
  for (const socket of sockets) write(socket, times(count, frame(LAST | BINARY)));
  await eventually(() => all === sockets.length * count);
  expect(most).toBe(sockets.length);
});
test('H781: a message of more than 1,024 fragments ends its stream', async () => {
  let chunks = 0;
  const open = await serve(() => void chunks++);
  const [kept, ended] = [await open(), await open()];
  const fragments = (count: number) =>
    Buffer.concat([frame(BINARY), times(count - 2, frame(MORE)), frame(LAST | MORE)]);
  write(kept, fragments(1_024));
  await eventually(() => chunks === 1);
  write(ended, fragments(1_025));
  await once(ended, 'close');
  expect([chunks, kept.readyState]).toEqual([1, WebSocket.OPEN]);
});

test('H785: while the agent is behind, nothing more is read of its clients', async () => {
  let isBehind = true;
  let chunks = 0;
  const took = () => void chunks++;
  const open = await serve(took, () => isBehind);
  const [socket, other] = [await open(), await open()];
  const count = 20_000;
  write(socket, times(count, frame(LAST | BINARY)));
  // Each round trip of another client lasts some turns of the event loop. A frame could pass in each.
  for (let last = -1; chunks === 0 || chunks !== last; ) {
    last = chunks;
    for (let n = 0; n < 20; n += 1) {
      other.ping();
      await once(other, 'pong');
    }
  }
  expect(chunks).toBeLessThan(count / 2);
  isBehind = false;
  await eventually(() => chunks === count);
});
