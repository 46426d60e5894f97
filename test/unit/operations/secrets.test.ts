/** Encryption of secrets: what is stored, what a changed row or a missing key gives, and new keys. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { KnownActor } from '../../../control-plane/core/accounts/account.ts';
import { Seal } from '../../../control-plane/operations/secrets/seal.ts';
import { listSecrets, resealSecrets, setSecret } from '../../../control-plane/operations/secrets/secrets.ts';
import { findSecretProblem } from '../../../control-plane/operations/secrets/start-secrets.ts';
import { findSealedSecrets } from '../../../control-plane/store/accounts/user-secrets.ts';
import { findAccountByName } from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { memoryDatabase } from '../../support/hosts/memory-database.ts';

const newKey = () => randomBytes(32).toString('base64');
const [FIRST, SECOND] = [newKey(), newKey()];
const PLACE = { kind: 'secret', userId: 1, name: 'A' } as const;
const value = new TextEncoder().encode('the value');

let db: Db;
let admin: KnownActor;
beforeEach(async () => {
  db = await memoryDatabase();
  const account = await findAccountByName(db, 'alice');
  if (!account) throw new Error('the user alice is missing');
  const { user, role } = account;
  admin = { kind: 'user', credential: { by: 'password' }, user, role: { ...role, canChangeConfig: true } };
});
afterEach(() => db.close());

const contextWith = (...keys: string[]) => ({
  ...{ db, nowMs: () => 1, seal: new Seal(keys) },
  secretRules: { maxPerUser: 100 },
});
const set = (name: string, ...keys: string[]) =>
  setSecret(contextWith(...keys), admin, 'secret', async () => ({ name, value, isOfAll: false }));
const stored = (name: string) => findSealedSecrets(db, admin.user.id, [{ kind: 'secret', name }], 2 ** 20);

test('H579: a value is encrypted anew each time, and opens only with its key, at its place, unchanged', async () => {
  const seal = new Seal([FIRST]);
  const [one, two] = [await seal.close(PLACE, value), await seal.close(PLACE, value)];
  expect(one.text).not.toBe(two.text);
  expect(Buffer.from(one.text, 'base64').includes('value')).toBe(false);
  expect(await new Seal([SECOND, FIRST]).open(PLACE, one)).toEqual(value);
  const changed = `${one.text.slice(0, 20)}${one.text[20] === 'A' ? 'B' : 'A'}${one.text.slice(21)}`;
  await expect(seal.open(PLACE, { ...one, text: changed })).rejects.toThrow();
  for (const other of [{ name: 'B' }, { userId: 2 }, { userId: null }, { kind: 'file' as const }])
    await expect(seal.open({ ...PLACE, ...other }, one)).rejects.toThrow();
  await expect(new Seal([SECOND]).open(PLACE, one)).rejects.toThrow('BERTH_SECRET_KEYS');
});

test('H581: without a key nothing can be set, and the message names the setting', async () => {
  await expect(set('A')).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('BERTH_SECRET_KEYS'),
  });
  expect(await listSecrets({ db }, admin, 'secret')).toEqual([]);
});

test('H578: a value whose key is no longer in the setting counts as missing, and the message says so', async () => {
  await set('A', FIRST);
  const described = application(service({ environment: [['A', '{secret#A}']] }));
  expect(await findSecretProblem(contextWith(SECOND, FIRST), admin.user.id, described)).toBeUndefined();
  expect(await findSecretProblem(contextWith(SECOND), admin.user.id, described)).toContain(
    'The key of secret A',
  );
});

test('H583: values are encrypted with a new key in bounded steps, and the earlier key is not needed any more', async () => {
  for (let n = 0; n < 45; n++) await set(`S${n}`, FIRST);
  await set('OTHER', newKey());
  const both = contextWith(SECOND, FIRST);
  const rounds = [];
  for (let n = 0; n < 4; n++) rounds.push(await resealSecrets(both, admin));
  expect(rounds).toEqual([
    { encrypted: 20, left: 25, unreadable: 1 },
    { encrypted: 20, left: 5, unreadable: 1 },
    { encrypted: 5, left: 0, unreadable: 1 },
    { encrypted: 0, left: 0, unreadable: 1 },
  ]);
  const [secret] = await stored('S44');
  expect(secret && (await new Seal([SECOND]).open(secret, secret.sealed))).toEqual(value);
  const [{ n: audited } = {}] = await db.query(
    "SELECT count(*) AS n FROM audit WHERE action = 'encrypt-secrets'",
  );
  expect(audited).toBe(3);
});
