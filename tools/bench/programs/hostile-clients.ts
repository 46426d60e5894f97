/**
 * Clients that send large bodies without pause, one request after another each, from 127.0.0.1. Prints
 * `sending` after the first answer. The argument is the file of a HostileLoad.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { HostileLoad } from '../groups/hostile.ts';

const { clients, cookie, bodies } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as HostileLoad;
const agent = new Agent({ keepAlive: true });
let answers = 0;

await Promise.all(Array.from({ length: clients }, (_, n) => send(n)));

async function send(n: number): Promise<void> {
  for (let at = n; ; at++) {
    const { url, text } = bodies[at % bodies.length] ?? { url: '', text: '' };
    await post(url, text);
    if (++answers === 1) console.log('sending');
  }
}

/** Resolves once the answer has been read, whatever it is. */
function post(url: string, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { cookie, 'content-length': Buffer.byteLength(text) };
    const sent = request(url, { method: 'POST', agent, headers }, (reply) => {
      reply.resume().on('end', resolve).on('error', reject);
    });
    sent.on('error', reject).end(text);
  });
}
