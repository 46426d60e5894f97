/** Attacks by connections that are held open. */
import type { Socket } from 'node:net';
import { type Attack, judge, judgeRefusals } from '../attack.ts';
import type { Target } from '../target/target.ts';
import { judgeOthers, whileOthers } from './others-served.ts';

const AT_ONCE = 50;
const SLOW_BODIES = 60;
const [PIPELINES, PIPELINED] = [100, 14];
/** Below 8 KiB, bodies are not limited by their address. */
const SENT_BYTES = 9_000;
const ATTEMPTS_MS = 1_000;

/** Opens connections that send `bytes` and no more. They end with the attack. */
export async function hold(
  target: Target,
  count: number,
  bytes: string,
  answers: 'read' | 'unread' = 'read',
): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const more = Array.from({ length: Math.min(AT_ONCE, count - sockets.length) }, async () => {
      const socket = await target.dial();
      if (answers === 'read') socket.resume();
      socket.write(bytes, 'latin1');
      return socket;
    });
    sockets.push(...(await Promise.all(more)));
  }
  return sockets;
}

/** Sends bytes on a connection, and waits for its end, but not for long. Resolves to the answer. */
export async function exchange(target: Target, bytes: string): Promise<string> {
  const socket = await target.dial();
  let received = '';
  socket.on('data', (part) => {
    received += part;
  });
  socket.write(bytes, 'latin1');
  const closed = new Promise<void>((done) => socket.once('close', () => done()));
  await Promise.race([closed, target.pause(ATTEMPTS_MS)]);
  socket.destroy();
  return received;
}

/** The status of the answer to bytes that no client would send; undefined if there is none. */
export async function statusOf(target: Target, bytes: string): Promise<number | undefined> {
  const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(await exchange(target, bytes)) ?? [];
  return status === undefined ? undefined : Number(status);
}

const closedOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

const halfOpen: Attack = {
  id: 'half-open-connections',
  who: 'a stranger',
  rules: ['H344', 'H345', 'H192'],
  tries: 'shuts others out by connections that send half a head (--connections)',
  run: async (target) => {
    const held = await hold(target, target.options.connections, 'GET / HTTP/1.1\r\nHost: b');
    const { slowestMs, problems } = await whileOthers(target, () => target.pause(ATTEMPTS_MS));
    return judge(
      problems,
      `${held.length} connections, ${closedOf(held)} closed by Berth; others waited at most ${slowestMs.toFixed(0)} ms`,
    );
  },
};

const slowBodies: Attack = {
  id: 'slow-bodies',
  who: 'a stranger',
  rules: ['H309', 'H192'],
  tries: `fills the memory, or shuts others out, by ${SLOW_BODIES} bodies of 1 MiB that never arrive whole`,
  run: async (target) => {
    const head = `POST /api/0.7/app_validate HTTP/1.1\r\nHost: ${target.url.host}\r\nContent-Length: 1000000\r\n\r\n`;
    const held = await hold(target, SLOW_BODIES, `${head}"${'a'.repeat(SENT_BYTES)}`);
    const small = () => target.send({ method: 'POST', path: 'app_validate', body: '{}' });
    const { done, slowestMs, problems } = await whileOthers(target, async () => {
      await target.pause(ATTEMPTS_MS);
      return small();
    });
    return judge(
      [...problems, ...(done.status === 400 ? [] : [`a small body of another was answered ${done.status}`])],
      `${closedOf(held)} of ${held.length} refused; others waited at most ${slowestMs.toFixed(0)} ms`,
    );
  },
};

const notHttp: Attack = {
  id: 'not-http',
  who: 'a stranger',
  rules: ['H191', 'H1'],
  tries: 'harms others by bytes that are not HTTP, a head without an end, and two lengths of one body',
  run: async (target) => {
    const inputs = [
      '\0\x01\x02\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: b\r\nX: ${'a'.repeat(200_000)}`,
      `POST / HTTP/1.1\r\nHost: b\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x`,
    ];
    return judgeOthers(target, () => Promise.all(inputs.map((bytes) => exchange(target, bytes))));
  },
};

const pipelined: Attack = {
  id: 'pipelined-requests',
  who: 'a stranger',
  rules: ['H377'],
  tries: `delays others by ${PIPELINES} connections that send ${PIPELINED} requests each, without awaiting an answer`,
  run: async (target) => {
    const get = `GET /api/0.7/info HTTP/1.1\r\nHost: ${target.url.host}\r\n\r\n`;
    return judgeOthers(target, async () => {
      await hold(target, PIPELINES, get.repeat(PIPELINED));
      await target.pause(ATTEMPTS_MS);
    });
  },
};

const twoHostLines: Attack = {
  id: 'two-host-lines',
  who: 'a stranger',
  rules: ['H191'],
  tries: 'has Berth and a proxy before it read two hosts from one request, by two Host lines',
  run: async (target) => {
    const { host } = target.url;
    const head = `GET /api/0.7/info HTTP/1.1\r\nHost: ${host}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`;
    const status = (await statusOf(target, head)) ?? 0;
    return judgeRefusals([status], (one) => one >= 400);
  },
};

export const connections: readonly Attack[] = [halfOpen, slowBodies, notHttp, pipelined, twoHostLines];
