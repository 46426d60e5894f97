/** Images that a user names, as a way to services inside: real pulls of the real engine. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { dockerRig, errorOf } from '../../../support/engines/docker-rig.ts';

const { engine, makeEngine } = dockerRig('registries');
const SECRET = 'the secret of a service inside';
const noAbort = new AbortController().signal;

/** A service of the operator that is not a registry; it listens on all addresses of this machine. */
const requests: string[] = [];
const service = createServer((request, response) => {
  requests.push(request.url ?? '');
  const { status, type, body, headers = {} } = answer;
  response.writeHead(status, { 'content-type': type, ...headers }).end(body);
});
let answer: { status: number; type: string; body: string; headers?: Record<string, string> } = {
  status: 200,
  type: 'text/plain',
  body: SECRET,
};
let port = 0;
beforeAll(async () => {
  service.listen(0, '::');
  await once(service, 'listening');
  port = (service.address() as AddressInfo).port;
});
beforeEach(() => requests.splice(0));
afterAll(() => {
  service.close();
  service.closeAllConnections();
});

const ownAddress = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
const names = ['127.0.0.1', 'localhost', '127.1', '2130706433', 'LOCALHOST', ownAddress ?? '127.0.0.2'];

test('P139: an image on an address that is inside is refused before anything is requested', async () => {
  for (const name of names)
    expect(await errorOf(engine().pull(`${name}:${port}/x`, () => {}, noAbort)), name).toMatchObject({
      kind: 'permanent',
      message: expect.stringMatching(/is not on a public address \(.*BERTH_AGENT_REGISTRIES=\.\.\.,/),
    });
  expect(requests).toEqual([]);
});

const ANSWERS = [
  { status: 200, type: 'text/plain', body: SECRET },
  { status: 404, type: 'text/plain', body: SECRET },
  { status: 500, type: 'text/html', body: `<p>${SECRET}</p>` },
  { status: 401, type: 'application/json', body: JSON.stringify({ token: SECRET }) },
  { status: 401, type: 'application/json', body: JSON.stringify({ details: SECRET }) },
  { status: 403, type: 'application/json', body: JSON.stringify({ details: SECRET }) },
  { status: 429, type: 'application/json', body: JSON.stringify({ details: SECRET }) },
  {
    status: 404,
    type: 'application/json',
    body: JSON.stringify({ errors: [{ code: 'ANY', message: SECRET, detail: SECRET }] }),
  },
  { status: 200, type: 'application/vnd.docker.distribution.manifest.v2+json', body: `{"a":"${SECRET}"` },
];

test('P140: the error of a pull does not have the body of the answer', async () => {
  const host = `127.0.0.1:${port}`;
  const on = makeEngine({ registries: [host] });
  for (const given of ANSWERS) {
    answer = given;
    requests.splice(0);
    const { message } = await errorOf(on.pull(`${host}/x`, () => {}, noAbort));
    expect(requests, JSON.stringify(given)).not.toEqual([]);
    expect(message).toMatch(new RegExp(`^pulling ${host}/x: \\w`));
    expect(message).not.toContain('secret');
    expect(message.length).toBeLessThan(400);
  }
});

/** What a registry with a pull rate limit answers, by the code of its error. */
const limited = (status: number, code: string, message: string, headers = {}) => ({
  ...{ status, type: 'application/json', headers },
  body: JSON.stringify({ errors: [{ code, message }] }),
});

test('P304: a registry that refuses further pulls is asked again when it says, and the message names the limit', async () => {
  const host = `127.0.0.1:${port}`;
  const on = makeEngine({ registries: [host] });
  answer = limited(429, 'TOOMANYREQUESTS', 'Rate exceeded', { 'retry-after': '300' });
  const first = await errorOf(on.pull(`${host}/limited:1`, () => {}, noAbort));
  expect(first).toMatchObject({
    kind: 'temporary',
    message: expect.stringMatching(/limits how often this host pulls; it is asked again in (300|299) s/),
  });
  requests.splice(0);
  for (const image of ['limited:1', 'other:1'])
    expect(await errorOf(on.pull(`${host}/${image}`, () => {}, noAbort))).toMatchObject({
      kind: 'temporary',
      message: expect.stringMatching(/is asked again in (300|29\d) s/),
    });
  expect(requests).toEqual([]);
});
