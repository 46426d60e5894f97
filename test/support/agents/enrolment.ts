/** Hosts for tests that bring their own agents: registered as real hosts are, with keys in memory. */
import { generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { makeJoinToken } from '../../../control-plane/operations/cluster/join-tokens.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { CONNECT_PATH, REGISTER_PATH, registeredSchema } from '../../../shared/protocol/enrolment.ts';

/** An Ed25519 key, with its public half in the form that agents send. */
export interface AgentKey {
  publicKey: { kty: 'OKP'; crv: 'Ed25519'; x: string };
  privateKey: KeyObject;
}

export function newAgentKey(): AgentKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  return { publicKey: { kty: 'OKP', crv: 'Ed25519', x }, privateKey };
}

/** A control plane's address and deployment name. */
export interface Place {
  url: string;
  deployment: string;
}

/**
 * Sends a registration and returns the response unchanged. Uses a new connection each time, because a
 * kept-alive connection may be closed at that moment.
 */
export async function askToRegister(
  { url }: Pick<Place, 'url'>,
  joinToken: string | undefined,
  body: unknown,
): Promise<Response> {
  const headers = joinToken === undefined ? {} : { authorization: `Bearer ${joinToken}` };
  const outgoing = request(new URL(REGISTER_PATH, url), { agent: false, method: 'POST', headers });
  const answered = once(outgoing, 'response');
  outgoing.end(JSON.stringify(body));
  const [response] = (await answered) as [IncomingMessage];
  return responseOf(response);
}

async function responseOf(response: IncomingMessage): Promise<Response> {
  const fields = Object.entries(response.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new Response(await text(response), { status: response.statusCode ?? 0, headers: fields });
}

/** Registers a host with a token that is written into the database; resolves to its id. */
export const enrol = async (place: Place, db: Db, name: string, key: AgentKey): Promise<number> =>
  enrolWith((await joinTokenIn(db)).token, place, name, key);

let lastToken: Promise<unknown> = Promise.resolve();

/** One after the other: sqld lets many writers that wait at once wait for long. */
function joinTokenIn(db: Db): ReturnType<typeof makeJoinToken> {
  const token = lastToken.then(() => makeJoinToken(db, Date.now()));
  lastToken = token.catch(() => {});
  return token;
}

/** Registers a host with a join token; resolves to its id. */
export async function enrolWith(
  token: string,
  place: Place,
  name: string,
  { publicKey }: AgentKey,
): Promise<number> {
  const response = await askToRegister(place, token, { deployment: place.deployment, name, publicKey });
  if (!response.ok)
    throw new Error(`${name} was not registered: ${response.status} ${await response.text()}`);
  return registeredSchema.parse(await response.json()).host_id;
}

/** Resolves to the response of a refused connection attempt. Rejects if the connection is made. */
export async function refusalOf(url: string, authorization: string): Promise<Response> {
  const headers = {
    authorization,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
  };
  const outgoing = request(new URL(CONNECT_PATH, url), { agent: false, headers });
  const refused = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve).on('error', reject);
    outgoing.on('upgrade', (_, socket) =>
      reject(new Error('the connection was made', { cause: socket.end() })),
    );
  });
  outgoing.end();
  return responseOf(await refused);
}

/** Claims of a proof. Undefined claims are left out. */
export interface Claims {
  sub?: string | undefined;
  aud?: string | undefined;
  iat?: number | undefined;
  exp?: number | undefined;
  jti?: string | undefined;
}

/**
 * The Authorization header of one connection: an agent's proof with `changes`. Signed without a library,
 * because tests make a thousand at once.
 */
export function proofOf(
  hostId: number,
  deployment: string,
  { privateKey }: AgentKey,
  changes: Claims = {},
): string {
  const iat = Math.floor(Date.now() / 1_000);
  const claims = { sub: String(hostId), aud: deployment, iat, exp: iat + 60, jti: randomUUID(), ...changes };
  const signed = [{ alg: 'EdDSA' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `Bearer ${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
}
