/** The client of a large body of a web application: gets or sends it once, and prints a BodyResult. */
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export interface Body {
  address: string;
  port: number;
  headers: Record<string, string>;
  kind: 'down' | 'up';
  bytes: number;
}

export interface BodyResult {
  megabytesPerS: number;
}

const BLOCK = Buffer.alloc(64 * 1024, 'berth');

const { address: host, port, headers: own, kind, bytes } = JSON.parse(process.argv[2] ?? '') as Body;
const isUp = kind === 'up';
const headers = { ...own, ...(isUp && { 'content-length': bytes }) };
const head = isUp ? { method: 'POST', path: '/' } : { method: 'GET', path: `/down/${bytes}` };

const beganMs = performance.now();
const sent = request({ host, port, headers, ...head });
const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
for (let left = isUp ? bytes : 0; left > 0; left -= BLOCK.length)
  if (!sent.write(left < BLOCK.length ? BLOCK.subarray(0, left) : BLOCK)) await once(sent, 'drain');
sent.end();
const [answer] = await answered;
let received = 0;
for await (const part of answer) received += part.length;
const seconds = (performance.now() - beganMs) / 1000;
if (answer.statusCode !== 200 || (!isUp && received !== bytes))
  throw new Error(`${kind}: ${answer.statusCode} with ${received} bytes`);
const result: BodyResult = { megabytesPerS: bytes / 1e6 / seconds };
console.log(JSON.stringify(result));
process.exit(0);
