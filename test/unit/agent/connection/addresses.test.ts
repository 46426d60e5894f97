import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Addresses } from '../../../../agent/connection/addresses.ts';
import { registerAtAny } from '../../../../agent/connection/registration.ts';
import { stayConnected } from '../../../../agent/connection/socket.ts';
import { StandbyError } from '../../../../control-plane/core/model/errors.ts';
import { refuseAgent } from '../../../../control-plane/http/routes/agents.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { ControlPlanePeer } from '../../../support/agents/control-plane-peer.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const [one, two, three] = ['http://one', 'http://two', 'http://three'].map((url) => new URL(url)) as [
  URL,
  URL,
  URL,
];

test('P191: addresses are tried in their order, and the next round begins with the one that accepted the agent last', () => {
  const addresses = new Addresses([one, two, three]);
  expect([addresses.current, addresses.next(), addresses.current, addresses.next()]).toEqual([
    one,
    true,
    two,
    true,
  ]);
  expect([addresses.current, addresses.next(), addresses.current]).toEqual([three, false, one]);
  addresses.next();
  addresses.accepted();
  expect([addresses.next(), addresses.next(), addresses.next(), addresses.current]).toEqual([
    true,
    true,
    false,
    two,
  ]);
});

test('P191: an agent with one address has no other to try', () => {
  const addresses = new Addresses([one]);
  expect([addresses.next(), addresses.current]).toEqual([false, one]);
});

let stop: AbortController;
let standby: Server;
let peer: ControlPlanePeer;
/** Connections that the standby has refused. */
let refused = 0;
const closed: { url: string; waitMs: number; reason: string }[] = [];

beforeEach(async () => {
  stop = new AbortController();
  closed.length = 0;
  refused = 0;
  peer = await ControlPlanePeer.open();
  standby = createServer(async (_, response) => response.writeHead(503).end(await refusal()));
  standby.on('upgrade', async (_, stream) => {
    refused += 1;
    const body = await refusal();
    stream.end(`HTTP/1.1 503 Service Unavailable\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  });
  await once(standby.listen(0, '127.0.0.1'), 'listening');
});
afterEach(() => {
  stop.abort();
  standby.close();
  peer.close();
});

const refusal = () =>
  refuseAgent(new StandbyError('This is a standby.', 'another one is active'), () => {}).text();
const standbyUrl = () => new URL(`http://127.0.0.1:${(standby.address() as AddressInfo).port}`);

function connect(urls: readonly URL[]): Promise<void> {
  return stayConnected({
    ...{ addresses: new Addresses(urls), nowMs: Date.now, random: () => 0, pingMs: 60_000 },
    identity: { headers: async () => ({}) },
    engine: 'fake',
    begin: () => {
      const receiver = {
        spreadMs: undefined as number | undefined,
        receive: () => {
          receiver.spreadMs = 0;
        },
        closed: () => {},
      };
      return receiver;
    },
    log: (event, fields) => {
      if (event === 'connection.closed') closed.push(fields as unknown as (typeof closed)[number]);
    },
    signal: stop.signal,
  });
}

test('P191, P192: a standby makes the agent try the next address without a pause, and that one stays the first to try', async () => {
  const connected = connect([standbyUrl(), peer.url]);
  const first = await peer.connection();
  expect(closed).toEqual([
    {
      url: standbyUrl().origin,
      code: 1006,
      reason: 'the control plane answered 503: This is a standby.',
      waitMs: 0,
    },
  ]);
  first.welcome();
  await eventually(() => closed.length === 1);
  first.close(closeCodes.resync.code);
  await peer.connection(2);
  expect(refused).toBe(1);
  stop.abort();
  await connected;
});

test('P191: a control plane that accepts the connection, but sends no welcome, is left for the next one', async () => {
  const other = await ControlPlanePeer.open();
  const connected = connect([peer.url, other.url]);
  (await peer.connection()).close(closeCodes.unavailable.code);
  await other.connection();
  expect(closed).toMatchObject([{ url: peer.url.origin, waitMs: 0 }]);
  stop.abort();
  await connected;
  other.close();
});

test('P191: the agent pauses after each round, and not after each address', async () => {
  const connected = connect([standbyUrl(), standbyUrl()]);
  await eventually(() => closed.length >= 4);
  expect(closed.slice(0, 4).map(({ waitMs }) => waitMs)).toEqual([0, 125, 0, 250]);
  stop.abort();
  await connected;
});

test('P191: a registration tries one address after the other, and its error has the reason of each', async () => {
  const body = {
    deployment: 'test',
    name: 'one',
    publicKey: { kty: 'OKP', crv: 'Ed25519', x: 'x' },
  } as const;
  const dead = new URL('http://127.0.0.1:1');
  const error: Error = await registerAtAny([dead, standbyUrl()], 'token', body).catch((reason) => reason);
  expect(error.message).toMatch(
    /cannot be reached at http:\/\/127\.0\.0\.1:1.*did not register.*This is a standby/,
  );
  const active = createServer((_, response) => response.end('{"host_id":7}'));
  await once(active.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(`http://127.0.0.1:${(active.address() as AddressInfo).port}`);
  expect(await registerAtAny([standbyUrl(), url], 'token', body)).toBe(7);
  active.close();
});
