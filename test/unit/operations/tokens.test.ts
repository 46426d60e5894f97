import { beforeEach, expect, test } from 'vitest';
import type { Authenticated } from '../../../control-plane/core/accounts/account.ts';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { UserShares } from '../../../control-plane/guard/user-shares.ts';
import { type Granted, Tokens } from '../../../control-plane/operations/accounts/tokens.ts';
import { findAccountByName } from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../support/hosts/memory-database.ts';
import { cases, fc } from '../../support/tools/random-cases.ts';

const credential = { by: 'password' } as const;
const RULES = { accessMs: 3_600_000, refreshMs: 30 * 24 * 3_600_000, maxPerKind: 5 };

let db: Db;
let nowMs = 1_700_000_000_123;
let tokens: Tokens;
beforeEach(async () => {
  db = await testDatabase();
  tokens = open();
});

const open = (deploymentName = 'test') => {
  const shares = new UserShares(() => nowMs);
  return new Tokens(
    { db, nowMs: () => nowMs, deploymentName, credentialsEnded: async () => {}, shares },
    RULES,
  );
};

async function grantPair(): Promise<Required<Granted>> {
  const account = await findAccountByName(db, 'alice');
  if (!account) throw new Error('alice is not there');
  const actor = { kind: 'user', credential, ...account } as const;
  const proof: Authenticated = { by: 'basic', actor, sessionToken: '' };
  const { refreshToken = '', ...granted } = await tokens.grant(proof, async () => 'password');
  return { ...granted, refreshToken };
}

async function proofBy(refreshToken: string) {
  const tokenHash = await tokens.read(refreshToken, 'refresh');
  const account = await tokens.find(tokenHash, 'refresh');
  return { by: 'token', actor: { kind: 'user', credential, ...account }, tokenHash } as const;
}

const refresh = async (token: string): Promise<string> =>
  (await tokens.grant(await proofBy(token), async () => 'refresh_token')).accessToken;

const findBy = async (by: Tokens, token: string, kind: 'access' | 'refresh' = 'access') =>
  by.find(await by.read(token, kind), kind);

/** Whether each of these tokens is still valid, in their order. */
const alive = (all: readonly string[], kind: 'access' | 'refresh') =>
  Promise.all(
    all.map((token) =>
      findBy(tokens, token, kind).then(
        () => true,
        (error) => {
          if (error instanceof OperationError && error.code === 'bad-token') return false;
          throw error;
        },
      ),
    ),
  );

const rows = async () => (await db.query('SELECT id_hash FROM tokens')).length;

test('H120: an access token is valid for an hour, and a refresh token grants access for 30 days', async () => {
  const { accessToken, refreshToken, expiresInS } = await grantPair();
  nowMs += RULES.accessMs - 1_000;
  expect([expiresInS, await alive([accessToken], 'access')]).toEqual([3_600, [true]]);
  nowMs += 2_000;
  expect(await alive([accessToken], 'access')).toEqual([false]);
  nowMs += RULES.refreshMs - RULES.accessMs - 2_000;
  const late = await refresh(refreshToken);
  nowMs += 2_000;
  expect([await alive([late], 'access'), await alive([refreshToken], 'refresh')]).toEqual([[true], [false]]);
});

test('H125: a token beyond the limit ends the oldest token of its kind, and another one deletes those that have expired', async () => {
  const pairs: Required<Granted>[] = [];
  for (let n = 0; n < RULES.maxPerKind + 2; n++) {
    pairs.push(await grantPair());
    nowMs += 10;
  }
  const newest = pairs.map((_, n) => n >= 2);
  for (const kind of ['access', 'refresh'] as const) {
    const all = pairs.map((pair) => pair[`${kind}Token`]);
    expect(await alive(all, kind)).toEqual(newest);
  }
  for (let n = 0; n < RULES.maxPerKind; n++) await refresh(pairs.at(-1)?.refreshToken ?? '');
  expect(await rows()).toBe(2 * RULES.maxPerKind);
  await grantPair();
  nowMs += RULES.refreshMs;
  await grantPair();
  expect(await rows()).toBe(2);
});

test('H123: a refresh token that is revoked during a grant grants nothing', async () => {
  const { refreshToken } = await grantPair();
  const proof = await proofBy(refreshToken);
  const granting = tokens.grant(proof, async () => {
    await tokens.revoke(proof.actor, refreshToken);
    return 'refresh_token';
  });
  await expect(granting).rejects.toMatchObject({ code: 'bad-token' });
  expect(await rows()).toBe(0);
});

test('H122: the signing key is created once by concurrent callers, and another deployment with this key refuses the tokens', async () => {
  const [one, other] = [open(), open()];
  const all = [one, other, tokens];
  await Promise.all(all.map((each) => each.read('a.b.c', 'access').catch(() => undefined)));
  const { accessToken } = await grantPair();
  for (const each of all)
    expect(await findBy(each, accessToken)).toMatchObject({ user: { username: 'alice' } });
  const keys = "SELECT name FROM secrets WHERE name LIKE 'token%'";
  expect(await db.query(keys)).toEqual([{ name: 'token-key' }]);
  await expect(open('elsewhere').read(accessToken, 'access')).rejects.toMatchObject({ code: 'bad-token' });
});

test('H121: any text that is not a token is refused as one, and causes no other error', async () => {
  const { accessToken } = await grantPair();
  const pieces = accessToken.split('.');
  const json = fc.json().map((text) => btoa(encodeURI(text)));
  const part = fc.oneof(fc.base64String({ maxLength: 120 }), json);
  const texts = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 200 }),
    // A token with one changed part.
    fc.tuple(fc.nat(2), part).map(([at, text]) => pieces.toSpliced(at, 1, text).join('.')),
  );
  await fc.assert(
    fc.asyncProperty(texts, async (text) => {
      fc.pre(text !== accessToken);
      expect(await alive([text], 'access')).toEqual([false]);
    }),
    cases(60),
  );
});
