/** The protocol of sign-on against a provider that answers falsely. */
import { createHmac } from 'node:crypto';
import { exportSPKI, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterAll, beforeEach, expect, test } from 'vitest';
import type { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { Provider } from '../../../../control-plane/operations/sign-on/provider.ts';
import { isIssuer, isSecure } from '../../../../control-plane/operations/sign-on/settings.ts';
import { HostileProvider, type Script } from '../../../support/sign-on/hostile-provider.ts';
import { CLIENT_SECRET, newKey } from '../../../support/sign-on/test-provider.ts';

const provider = await HostileProvider.start();
afterAll(() => provider.stop());
beforeEach(() => {
  provider.script = {};
  provider.requests = [];
});

const settings = () => ({
  ...{ issuer: provider.issuer, clientId: 'berth', clientSecret: CLIENT_SECRET, name: 'Hostile' },
  ...{ scope: 'openid', createsUsers: true, usernameClaim: 'preferred_username', groupsClaim: 'groups' },
  ...{ groups: undefined, logoutHint: false, sessionMs: 1, tokensMs: 1 },
});

/** Resolves to the subject, or to the code and the message of the refusal. */
async function outcomeOf(script: Script, berth = new Provider(settings(), Date.now)) {
  provider.script = script;
  try {
    const { url, pending } = await berth.begin('http://127.0.0.1:1/login/oidc/callback');
    const back = (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    return (await berth.complete(new URL(back).searchParams, pending)).subject;
  } catch (error) {
    const { code, message } = error as OperationError;
    return `${code}: ${message}`;
  }
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** Signs by HS256 with a secret of any kind. */
const byHmac = (secret: string) => (claims: JWTPayload) => {
  const text = `${part({ alg: 'HS256', kid: provider.key.jwk.kid })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
};
const byAnotherKey = async (claims: JWTPayload) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', kid: provider.key.jwk.kid ?? '' })
    .sign((await newKey()).privateKey);
const publicPem = async () => exportSPKI((await importJWK(provider.publicKey, 'RS256')) as never);
const unsigned = (claims: JWTPayload) => new UnsecuredJWT(claims).encode();
const [STATES_ISSUER, ALGS] = [
  'authorization_response_iss_parameter_supported',
  'id_token_signing_alg_values_supported',
];
const nowS = () => Math.floor(Date.now() / 1_000);
const claims = (all: Record<string, unknown>): Script => ({ claims: all as JWTPayload });
const without = (name: string): Script => ({ comeBack: (query) => query.delete(name) });
const withOne = (name: string, value: string): Script => ({ comeBack: (query) => query.set(name, value) });
const stating = (discovery: Record<string, unknown>): Script => ({ discovery });

test('H534, H640: what a proper provider answers is accepted, with its issuer in the answer too, by clocks that differ a little', async () => {
  expect(await outcomeOf({})).toBe('ann');
  expect(await outcomeOf(withOne('iss', provider.issuer))).toBe('ann');
  expect(await outcomeOf(claims({ aud: ['berth', 'other'], azp: 'berth' }))).toBe('ann');
  for (const aside of [-50, 50]) expect(await outcomeOf(claims({ iat: nowS() + aside }))).toBe('ann');
  expect(await outcomeOf(claims({ exp: nowS() - 50, nbf: nowS() + 50 }))).toBe('ann');
});

test.each<[string, () => Script, RegExp]>([
  ['an answer of another issuer', () => withOne('iss', 'https://other.example.org'), /iss/],
  ['no issuer in an answer, though one is stated', () => stating({ [STATES_ISSUER]: true }), /iss/],
  ['two states', () => ({ comeBack: (query) => query.append('state', 'other') }), /state/],
  ['no state', () => without('state'), /state/],
  ['two codes', () => ({ comeBack: (query) => query.append('code', 'other') }), /code/],
  ['no code', () => without('code'), /code/],
  ['an ID token in the address', () => withOne('id_token', 'e.e.e'), /implicit/],
  ['alg none', () => ({ sign: unsigned }), /alg/],
  ['HS256 by the secret of the client', () => ({ sign: byHmac(CLIENT_SECRET) }), /alg/],
  ['HS256 by the public key', () => ({ sign: async (all) => byHmac(await publicPem())(all) }), /alg/],
  [
    'HS256 that the provider states',
    () => ({ ...stating({ [ALGS]: ['HS256'] }), sign: byHmac(CLIENT_SECRET) }),
    /algorithm/,
  ],
  [
    'alg none that the provider states',
    () => ({ ...stating({ [ALGS]: ['none'] }), sign: unsigned }),
    /alg|signature/,
  ],
  ['a key that is not published', () => ({ sign: (all) => provider.signed(all, 'unknown') }), /key/],
  ['a token that is none', () => ({ sign: () => 'a.b' }), /JWT/],
  ['no token', () => ({ sign: () => undefined as never }), /id_token/],
  ['an issue in 2 minutes', () => claims({ iat: nowS() + 120 }), /iat/],
  ['an expiry 2 minutes ago', () => claims({ exp: nowS() - 120 }), /exp/],
  ['no expiry', () => claims({ exp: undefined }), /exp/],
  ['an issuer with a slash more', () => claims({ iss: `${provider.issuer}/` }), /iss/],
  ['an audience of several without azp', () => claims({ aud: ['berth', 'other'] }), /aud/],
  ['an audience of nobody', () => claims({ aud: [] }), /aud/],
  ['an audience with other capitals', () => claims({ aud: 'Berth' }), /aud/],
  ['an audience of several for another', () => claims({ aud: ['berth', 'other'], azp: 'other' }), /azp/],
  ['a begin in 2 minutes', () => claims({ nbf: nowS() + 120 }), /nbf/],
  ['a signature by another key', () => ({ sign: byAnotherKey }), /signature/],
  ['a nonce of another sign-on', () => claims({ nonce: 'that of another' }), /nonce/],
  ['no nonce', () => claims({ nonce: undefined }), /nonce/],
  ['a nonce that is a list', () => claims({ nonce: ['a'] }), /nonce/],
  ['a subject that is a number', () => claims({ sub: 7 }), /sub/],
  ['an empty subject', () => claims({ sub: '' }), /sub/],
  ['a subject of 256 characters', () => claims({ sub: 'x'.repeat(256) }), /sub/],
  ['a subject with NUL', () => claims({ sub: 'ann\0' }), /sub/],
  ['a subject with half a character', () => claims({ sub: 'ann\ud800' }), /sub/],
  ['a subject that turns the direction of text', () => claims({ sub: 'ann\u202e' }), /sub/],
  ['userinfo of another', () => ({ userinfo: { sub: 'Ann' } }), /sub/],
  [
    'a redirect of the token endpoint',
    () => ({ paths: { '/token': (response) => response.writeHead(307, { location: '/else' }).end() } }),
    /status/,
  ],
])('H534, H640: %s is refused', async (_, make, reason) => {
  const outcome = await outcomeOf(make());
  expect(outcome).toMatch(/^unauthenticated: /);
  expect(outcome).toMatch(reason);
  expect(provider.requests).not.toContain('POST /else');
});

test('H534, H640: keys are read once by a sign-on with a code of the provider, also for an unknown key, and by no other; a change of keys hinders nobody', async () => {
  const berth = new Provider(settings(), Date.now);
  const keysRead = async (script: Script) => {
    provider.requests = [];
    await outcomeOf(script, berth);
    return provider.requests.filter((one) => one === 'GET /keys').length;
  };
  expect(await keysRead({})).toBe(1);
  expect(await keysRead({ sign: (all) => provider.signed(all, 'unknown') })).toBe(1);
  const refuses = (response: Parameters<NonNullable<Script['paths']>[string]>[0]) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}');
  expect(await keysRead({ paths: { '/token': refuses } })).toBe(0);
  provider.key = await newKey();
  expect([await keysRead({}), await outcomeOf({}, berth)]).toEqual([1, 'ann']);
});

const ENDPOINTS = ['authorization', 'token', 'userinfo', 'end_session'].map((one) => `${one}_endpoint`);
test.each([...ENDPOINTS, 'jwks_uri'])(
  'H643: a provider whose %s is neither https nor on this machine is not used',
  async (name) => {
    const texts = ['http://evil.example/a', 'javascript:alert(1)', 'ftp://127.0.0.1/', 'data:,', ''];
    for (const address of [...texts, 7]) {
      const outcome = await outcomeOf(stating({ [name]: address }));
      expect([address, outcome]).toEqual([
        address,
        expect.stringMatching(/^unavailable: .*can't be used now/),
      ]);
    }
    expect(provider.requests.every((one) => one.includes('/.well-known/'))).toBe(true);
  },
);

test('H643, H775: a document of another issuer is not used, and neither is a setting that is not it to the letter, with what to set', async () => {
  for (const issuer of ['https://other.example.org', `${provider.issuer}/x`, undefined])
    expect(await outcomeOf(stating({ issuer }))).toMatch(/^unavailable: /);
  const differs = (stated: string, set: string) =>
    `it states its issuer as "${stated}", and BERTH_OIDC_ISSUER is "${set}"`;
  const own = provider.issuer;
  for (const issuer of [`${own}/`, own.replace('http:', 'HTTP:'), `${own}/.`]) {
    const outcome = await outcomeOf({}, new Provider({ ...settings(), issuer }, Date.now));
    expect(outcome).toMatch(/^unavailable: /);
    expect(outcome).toContain(differs(own, issuer));
  }
  const stated = await outcomeOf(stating({ issuer: `${own}/x` }));
  expect(stated).toContain(`${differs(`${own}/x`, own)}: set the former`);
});

test('H643: plain http is for this machine only, and for no endpoint of an issuer with https', () => {
  for (const one of ['http://127.0.0.1:8/a?b=c', 'http://[::1]/', 'http://localhost/'])
    expect([one, isSecure(one, true)]).toEqual([one, true]);
  const elsewhere = ['http://a.example/', 'https://user:word@a.example/', 'javascript:1'];
  for (const one of ['http://127.0.0.1/', ...elsewhere])
    expect([one, isSecure(one, false)]).toEqual([one, false]);
  for (const one of ['http://127.0.0.1.example/', 'http://localhost.example/', 'http://10.0.0.1/'])
    expect([one, isSecure(one, true), isIssuer(one)]).toEqual([one, false, false]);
  expect(isSecure('https://a.example/b?c=d', false)).toBe(true);
});
