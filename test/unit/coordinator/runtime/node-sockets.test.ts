import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { AgentConnection } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import { serveAgents } from '../../../../control-plane/coordinator/runtime/node-sockets.ts';
import { encode } from '../../../../shared/protocol/codec.ts';
import { CONNECT_PATH } from '../../../../shared/protocol/enrolment.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const KIB = 1_024;
const MAX_UNREAD_BYTES = 1_024 * KIB;
/** Their answers are more than the kernel holds for a connection. */
const MESSAGES = 600;
const forgotten: number[] = Array(250).fill(1_000_000);
const MESSAGE = encode({ type: 'report', sequence: 1, observations: [], forgotten });
const ANSWER = 64 * KIB;

let server: Server;
let received: number;
let waitMs: number;

beforeEach(async () => {
  [received, waitMs] = [0, 0];
  server = createServer();
  const gatekeeper = {
    maxUnreadBytes: MAX_UNREAD_BYTES,
    admit: () => Promise.resolve({ hostId: 1, proofId: 'p', expiresMs: Number.MAX_SAFE_INTEGER }),
    refusal: () => new Response(null, { status: 500 }),
  };
  // A connection that answers each message at length.
  const connect: Parameters<typeof serveAgents>[1]['connect'] = (socket) => {
    const answer = () => {
      received += 1;
      socket.send(Buffer.alloc(ANSWER));
    };
    const events = { message: answer, refused: () => {}, useAllowance: () => waitMs, closed: () => {} };
    return new AgentConnection(socket, events, 100);
  };
  serveAgents(server, { admit: () => {}, connect }, gatekeeper);
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

/** An agent, and the control plane's end of its connection. */
async function dial(): Promise<{ agent: WebSocket; connection: Socket }> {
  const upgrade = once(server, 'upgrade');
  const agent = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}${CONNECT_PATH}`);
  await once(agent, 'open');
  const [request] = (await upgrade) as [IncomingMessage];
  return { agent, connection: request.socket };
}

test('P153: nothing is read of an agent that leaves too much unread, and every message is answered once it reads', async () => {
  const { agent, connection } = await dial();
  let answers = 0;
  agent.on('message', () => {
    answers += 1;
  });
  agent.pause();
  for (let n = 0; n < MESSAGES; n++) agent.send(MESSAGE);
  await eventually(() => connection.isPaused() && connection.writableLength > MAX_UNREAD_BYTES);
  expect(received).toBeLessThan(MESSAGES / 2);
  agent.resume();
  await eventually(() => answers === MESSAGES);
  agent.terminate();
});

test('P152: an agent beyond its allowance is read again after the time that this takes', async () => {
  const { agent, connection } = await dial();
  waitMs = 400;
  agent.send(MESSAGE);
  await eventually(() => received === 1 && connection.isPaused());
  waitMs = 0;
  agent.send(MESSAGE);
  await eventually(() => received === 2 && !connection.isPaused());
  agent.terminate();
});
