import { createServer, type Server } from 'node:http';
import { beforeEach, expect, test } from 'vitest';
import { Addresses } from '../../../../agent/connection/addresses.ts';
import { register, registerAtAny } from '../../../../agent/connection/registration.ts';
import type { Logger } from '../../../../agent/logger.ts';
import { StandbyError } from '../../../../control-plane/core/model/errors.ts';
import { refuseAgent } from '../../../../control-plane/http/routes/agents.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { ControlPlanePeer } from '../../../support/agents/control-plane-peer.ts';
import { dial } from '../../../support/agents/dial.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { serving } from '../../../support/tools/serving.ts';

const [one, two, three] = [new URL('http://one'), new URL('http://two'), new URL('http://three')];

test('P191: addresses are tried in their order, and the next round begins with the one that accepted the agent last', () => {
  const addresses = new Addresses([one, two, three]);
  const tried = () => [addresses.current, addresses.next()];
  expect([...tried(), ...tried(), ...tried()]).toEqual([one, true, two, true, three, false]);
  expect(addresses.current).toBe(one);
  addresses.next();
  addresses.accepted();
  expect([...tried(), ...tried(), ...tried()]).toEqual([two, true, three, true, one, false]);
  expect(addresses.current).toBe(two);
  const single = new Addresses([one]);
  expect([single.next(), single.current]).toEqual([false, one]);
});

let standby: URL;
let peer: ControlPlanePeer;
/** Connections that the standby has refused. */
let refused = 0;
const closed: { url: string; waitMs: number; reason: string }[] = [];

beforeEach(async () => {
  closed.length = 0;
  refused = 0;
  peer = await ControlPlanePeer.open();
  const server = createServer(async (_, response) => response.writeHead(503).end(await refusal()));
  server.on('upgrade', async (_, stream) => {
    refused += 1;
    const body = await refusal();
    stream.end(`HTTP/1.1 503 Service Unavailable\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  });
  standby = await urlOf(server);
});

const refusal = () =>
  refuseAgent(new StandbyError('This is a standby.', 'another one is active'), () => {}).text();
const urlOf = async (server: Server) => new URL(`http://127.0.0.1:${await serving(server)}`);

function connect(urls: readonly URL[]) {
  const begin = () => ({
    spreadMs: undefined as number | undefined,
    receive() {
      this.spreadMs = 0;
    },
    closed: () => {},
  });
  const log: Logger = (event, fields) => {
    if (event === 'connection.closed') closed.push(fields as unknown as (typeof closed)[number]);
  };
  return dial(urls, { begin, log });
}

test('P191, P192: a standby makes the agent try the next address without a pause, and that one stays the first to try', async () => {
  connect([standby, peer.url]);
  const first = await peer.connection();
  const reason = 'the control plane answered 503: This is a standby.';
  expect(closed).toEqual([{ url: standby.origin, code: 1006, reason, waitMs: 0 }]);
  first.welcome();
  await eventually(() => closed.length === 1);
  first.close(closeCodes.resync.code);
  await peer.connection(2);
  expect(refused).toBe(1);
});

test('P191: a control plane that accepts the connection, but sends no welcome, is left for the next one', async () => {
  const other = await ControlPlanePeer.open();
  connect([peer.url, other.url]);
  (await peer.connection()).close(closeCodes.unavailable.code);
  await other.connection();
  expect(closed).toMatchObject([{ url: peer.url.origin, waitMs: 0 }]);
});

test('P191: the agent pauses after each round, and not after each address', async () => {
  connect([standby, standby]);
  await eventually(() => closed.length >= 4);
  expect(closed.slice(0, 4).map(({ waitMs }) => waitMs)).toEqual([0, 125, 0, 250]);
});

const publicKey = { kty: 'OKP', crv: 'Ed25519', x: 'x' } as const;
const body = { deployment: 'test', name: 'node1', publicKey };

test('P191: a registration tries one address after the other, and its error has the reason of each', async () => {
  const dead = new URL('http://127.0.0.1:1');
  await expect(registerAtAny([dead, standby], 'token', body)).rejects.toThrow(
    /cannot be reached at http:\/\/127\.0\.0\.1:1.*did not register.*This is a standby/,
  );
  const active = await urlOf(createServer((_, response) => response.end('{"host_id":7}')));
  expect(await registerAtAny([standby, active], 'token', body)).toBe(7);
});

test('P16: an endless answer is not read to its end, and does not count as a permanent refusal', async () => {
  const server = createServer((_, response) => {
    const more = () => {
      while (response.write(Buffer.alloc(16_384, ' ')));
    };
    response.on('drain', more);
    more();
  });
  const registered = register(await urlOf(server), 'token', body);
  const tooLong = { name: 'Error', message: expect.stringContaining('exceeds 65536 bytes') };
  await expect(registered).rejects.toMatchObject(tooLong);
});
