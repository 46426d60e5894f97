import { beforeEach, expect, test } from 'vitest';
import type { Scope } from '../../../control-plane/core/accounts/action.ts';
import { expiryOf, looksLikePersonalToken } from '../../../control-plane/core/accounts/personal-token.ts';
import { LoginCounts } from '../../../control-plane/core/metrics/login-counts.ts';
import { ExpectedProofs } from '../../../control-plane/operations/accounts/expected-proofs.ts';
import { PersonalTokens } from '../../../control-plane/operations/accounts/personal-tokens.ts';
import {
  insertPersonalToken,
  listPersonalTokens,
} from '../../../control-plane/store/accounts/personal-tokens.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { FaultyDb, testDatabase } from '../../support/hosts/memory-database.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const ALICE = 1;

let db: Db;
let faulty: FaultyDb;
let nowMs: number;
let queries: number;
let tokens: PersonalTokens;
beforeEach(async () => {
  db = await testDatabase();
  faulty = new FaultyDb(db);
  nowMs = 1_700_000_040_000;
  queries = 0;
  faulty.afterQuery = () => void queries++;
  tokens = open();
});

const open = () => new PersonalTokens({ db: faulty, counts: new LoginCounts(), nowMs: () => nowMs });

async function make(expiresMs: number | null, scopes: Scope[] = ['read']) {
  const { token, hash } = await tokens.make();
  const stored = { userId: ALICE, credentialVersion: 1, name: hash, hash, scopes, madeMs: nowMs, expiresMs };
  const [inserted] = await db.batch([insertPersonalToken(stored, 50)]);
  expect(inserted).toBe(1);
  return { token, hash };
}
/** `by` of the proof, or the code of the error. */
const prove = async (token: string, at = tokens, username?: string): Promise<string> => {
  try {
    return (await (await at.claim(token, new ExpectedProofs(), username)).prove()).by;
  } catch (error) {
    return (error as { code: string }).code;
  }
};
const usedMs = async () => (await listPersonalTokens(db, ALICE))[0]?.usedMs;

test('H487: a token is valid until the moment it expires, and one without an expiry for ever', async () => {
  const [limited, endless] = [await make(nowMs + DAY_MS), await make(null)];
  const both = async () => [await prove(limited.token), await prove(endless.token)];
  nowMs += DAY_MS - 1;
  expect(await both()).toEqual(['personal-token', 'personal-token']);
  nowMs += 1;
  expect(await both()).toEqual(['bad-token', 'personal-token']);
  nowMs += 10_000 * DAY_MS;
  expect(await both()).toEqual(['bad-token', 'personal-token']);
});

test('H487: a new token lasts 90 days, or as its user and the deployment have it', () => {
  const lasts = (expiresDays: number | null | undefined, maxDays: number) => {
    const expiresMs = expiryOf({ expiresDays }, { maxDays }, nowMs);
    return expiresMs === null ? null : (expiresMs - nowMs) / DAY_MS;
  };
  expect([lasts(undefined, 0), lasts(undefined, 30), lasts(7, 30)]).toEqual([90, 30, 7]);
  expect([lasts(365, 0), lasts(null, 0)]).toEqual([365, null]);
  expect(() => lasts(31, 30)).toThrow('at most 30 days');
  expect(() => lasts(null, 30)).toThrow('at most 30 days');
});

test('H490: text that Berth has not issued costs no query, and is wrong at every process', async () => {
  const { token } = await make(null);
  const changed = [10, 40, 52, 53, 73].map((at) => {
    const other = token[at] === 'A' ? 'B' : 'A';
    return token.slice(0, at) + other + token.slice(at + 1);
  });
  expect(changed.every(looksLikePersonalToken)).toBe(true);
  const elsewhere = open();
  expect([await prove(token), await prove(token, elsewhere)]).toEqual(['personal-token', 'personal-token']);
  queries = 0;
  for (const wrong of [...changed, 'berth_pat_', `${token}x`, token.slice(1), '']) {
    expect(await prove(wrong)).toBe('bad-token');
    expect(await prove(wrong, elsewhere, 'alice')).toBe('unauthenticated');
  }
  expect(queries).toBe(0);
});

test('H492: a use is written once a minute, by whichever process, and the later one stays', async () => {
  const { hash } = await make(null);
  const elsewhere = open();
  const minute = nowMs;
  const writes = () => faulty.batches.length;
  const before = writes();
  await Promise.all([tokens.noteUse(hash), tokens.noteUse(hash), tokens.noteUse(hash)]);
  expect([writes() - before, await usedMs()]).toEqual([1, minute]);
  nowMs += MINUTE_MS - 1;
  await tokens.noteUse(hash);
  expect(writes() - before).toBe(1);
  nowMs += 1;
  await tokens.noteUse(hash);
  nowMs -= MINUTE_MS;
  await elsewhere.noteUse(hash);
  expect(await usedMs()).toBe(minute + MINUTE_MS);
  // A write that fails is tried again by the next request.
  nowMs += 3 * MINUTE_MS;
  faulty.failing = 'unreachable';
  await tokens.noteUse(hash);
  faulty.failing = 'no';
  expect(await usedMs()).toBe(minute + MINUTE_MS);
  await tokens.noteUse(hash);
  expect(await usedMs()).toBe(nowMs);
});
