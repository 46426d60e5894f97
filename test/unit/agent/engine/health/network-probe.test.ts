import { createServer, type Server, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { probeNetwork } from '../../../../../agent/engine/health/network-probe.ts';
import type { HealthCheck } from '../../../../../shared/protocol/health.ts';
import { serving } from '../../../../support/tools/serving.ts';

const frame = { intervalMs: 1_000, timeoutMs: 1_000, retries: 1, startPeriodMs: 0 };

/** Asks a server that does this with each connection. Returns the finding and what the server received. */
async function probe(serve: (socket: Socket) => void, changes: Partial<HealthCheck> = {}) {
  let received = '';
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('data', (bytes) => (received += bytes));
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    serve(socket);
  });
  const port = await serving(server);
  const check = { ...frame, kind: 'http', port, path: '/', ...changes } as HealthCheck & { kind: 'http' };
  const finding = await probeNetwork(check, '127.0.0.1');
  await new Promise(setImmediate);
  return { ...finding, received, sockets };
}
const says =
  (...texts: string[]) =>
  (socket: Socket) => {
    for (const text of texts) socket.write(text);
  };
const INTERIM = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n';

test('P211: interim answers are skipped, and a status line needs neither a reason nor a carriage return', async () => {
  expect(await probe(says(INTERIM, INTERIM, 'HTTP/1.1 204 No Content\r\n'))).toMatchObject({
    result: 'passed',
    detail: expect.stringMatching(/: status 204$/),
  });
  expect((await probe(says('HTTP/1.0 200\n'))).detail).toMatch(/: status 200$/);
  expect((await probe(says('HTTP/1.1 2', '0', '0 OK'))).detail).toMatch(/: status 200$/);
  expect(await probe(says('HTTP/1.1 101 Switching Protocols\r\n'))).toMatchObject({ result: 'failed' });
});

test('P211: an answer of interim ones without end, of endless headers, or of no HTTP has failed, after 1 KiB', async () => {
  const endless = `HTTP/1.1 100 Go\r\n${'A: b\r\n'.repeat(200_000)}`;
  const detail = expect.stringMatching(/: the answer is not HTTP\/1$/);
  for (const text of [INTERIM.repeat(40_000), endless, 'x'.repeat(1e6)])
    expect(await probe(says(text))).toMatchObject({ result: 'failed', detail });
});

test('P211: a redirect passes and is not followed, headers and body of any length are not read, and the connection ends', async () => {
  const moved = `HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n${'A: b\r\n'.repeat(200_000)}`;
  const { result, received, sockets } = await probe(says(moved), { path: '//elsewhere/x?y' } as HealthCheck);
  expect(result).toBe('passed');
  expect(received).toMatch(/^GET \/\/elsewhere\/x\?y HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
  expect(received).toContain('\r\nConnection: close\r\n');
  expect(sockets.size).toBeLessThan(2);
});

test('P211: bytes that come slowly do not prolong a check beyond its timeout', async () => {
  let written = 0;
  const drip = (socket: Socket) => {
    const timer = setInterval(() => {
      socket.write('H');
      written += 1;
    }, 1);
    socket.on('close', () => clearInterval(timer));
  };
  expect((await probe(drip, { timeoutMs: 100 })).detail).toMatch(/: no answer within 0.1 s$/);
  expect(written).toBeGreaterThan(0);
});

test('P211: an agent that was stopped itself for the time of a check has found nothing', async () => {
  const stop = () => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
  expect((await probe(stop, { timeoutMs: 100 })).result).toBe('unknown');
});
