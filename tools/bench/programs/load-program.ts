/**
 * Load generator: keep-alive clients that send one request after another over plain sockets, so that it costs
 * little compared with the measured server. Prints a LoadResult; a SIGTERM ends the load early. It parses
 * only the length of an answer.
 */
import { connect } from 'node:net';
import { p99 } from '../figure.ts';
import type { Load } from '../load.ts';

const LAST_CHUNK = '\r\n0\r\n\r\n';

const load = JSON.parse(process.argv[2] ?? '') as Load;
const latenciesMs: number[] = [];
let sent = 0;

process.once('SIGTERM', () => {
  load.requests = sent;
});
const startMs = performance.now();
await Promise.all(Array.from({ length: load.clients }, client));
const seconds = (performance.now() - startMs) / 1000;
console.log(JSON.stringify({ perSecond: latenciesMs.length / seconds, p99Ms: p99(latenciesMs) }));

function client(): Promise<void> {
  return new Promise((done, fail) => {
    const socket = connect(load.port, load.address ?? '127.0.0.1')
      .setNoDelay(true)
      .setEncoding('latin1');
    let received = '';
    let sentMs = 0;
    const next = () => {
      if (sent >= load.requests) {
        socket.end();
        return done();
      }
      sentMs = performance.now();
      socket.write(requestText(sent++));
    };
    socket.on('connect', next);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed the connection')));
    socket.on('data', (text: string) => {
      received += text;
      const headEnd = received.indexOf('\r\n\r\n');
      if (headEnd < 0) return;
      if (!received.startsWith('HTTP/1.1 200')) return fail(new Error(`the server answered: ${received}`));
      const length = /^content-length: (\d+)/im.exec(received)?.[1];
      const whole =
        length === undefined
          ? received.endsWith(LAST_CHUNK)
          : received.length >= headEnd + 4 + Number(length);
      if (!whole) return;
      latenciesMs.push(performance.now() - sentMs);
      received = '';
      if (load.pauseMs === undefined) next();
      else setTimeout(next, load.pauseMs);
    });
  });
}

function requestText(n: number): string {
  const { method, path, port, first = 0, headers = {} } = load;
  const body = load.body?.replace('{nowMs}', String(Date.now())) ?? '';
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`;
  return `${method} ${path.replace('{n}', String(first + n))} HTTP/1.1\r\n${lines.join('')}${length}\r\n${body}`;
}
