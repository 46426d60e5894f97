/** Encryption of secrets: what is stored, what a changed row or a missing key gives, and new keys. */
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import type { KnownActor } from '../../../control-plane/core/accounts/account.ts';
import { metricsText } from '../../../control-plane/core/metrics/family.ts';
import { FetchCounts } from '../../../control-plane/core/metrics/secret-counts.ts';
import { UserShares } from '../../../control-plane/guard/user-shares.ts';
import { convertEarlierSecrets } from '../../../control-plane/operations/secrets/earlier-secrets.ts';
import { Seal } from '../../../control-plane/operations/secrets/seal.ts';
import { SecretMetrics } from '../../../control-plane/operations/secrets/secret-metrics.ts';
import { listSecrets, resealSecrets, setSecret } from '../../../control-plane/operations/secrets/secrets.ts';
import { findSecretProblem } from '../../../control-plane/operations/secrets/start-secrets.ts';
import { findSealedSecrets, LIST } from '../../../control-plane/store/accounts/user-secrets.ts';
import { findAccountByName } from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { FaultyDb, testDatabase } from '../../support/hosts/memory-database.ts';

const newKey = () => randomBytes(32).toString('base64');
const [FIRST, SECOND] = [newKey(), newKey()];
const PLACE = { kind: 'secret', userId: 1, name: 'A' } as const;
const value = new TextEncoder().encode('the value');

let db: Db;
let admin: KnownActor;
beforeEach(async () => {
  db = await testDatabase();
  const account = await findAccountByName(db, 'alice');
  if (!account) throw new Error('the user alice is missing');
  const { user, role } = account;
  admin = { kind: 'user', credential: { by: 'password' }, user, role: { ...role, canChangeConfig: true } };
});

const contextWith = (...keys: string[]) => ({
  ...{ db, nowMs: () => 1, seal: new Seal(keys), shares: new UserShares(() => 1) },
  secretRules: { maxPerUser: 100 },
});
const set = (name: string, ...keys: string[]) =>
  setSecret(contextWith(...keys), admin, 'secret', async () => ({ name, value, isOfAll: false }));
const stored = (name: string) => findSealedSecrets(db, admin.user.id, [{ kind: 'secret', name }], 2 ** 20);
/** As a Berth of before 0.1.0 stored a value: a nonce and what is encrypted, in base64. */
async function setEarlier(name: string, key: string, damaged = (text: string) => text): Promise<void> {
  const [raw, iv] = [Buffer.from(key, 'base64'), randomBytes(12)];
  const keyId = createHash('sha256').update('berth secret key ').update(raw).digest('hex').slice(0, 16);
  const cipher = createCipheriv('aes-256-gcm', raw, iv).setAAD(Buffer.from(`berth secret 1 ${name}`));
  const closed = [iv, cipher.update(value), cipher.final(), cipher.getAuthTag()];
  const sql = `INSERT INTO user_secrets (kind, user_id, name, key_id, sealed, bytes, set_ms)
    VALUES ('secret', 1, ?, ?, ?, ?, 1)`;
  await db.query(sql, [name, keyId, damaged(Buffer.concat(closed).toString('base64')), value.length]);
}

test('H579: a value is encrypted anew each time, and opens only with its key, at its place, unchanged', async () => {
  const seal = new Seal([FIRST]);
  const [one, two] = [await seal.close(PLACE, value), await seal.close(PLACE, value)];
  expect(one.text).not.toBe(two.text);
  expect(one.text.split('.').some((part) => Buffer.from(part, 'base64url').includes('value'))).toBe(false);
  expect(await new Seal([SECOND, FIRST]).open(PLACE, one)).toEqual(value);
  const at = one.text.length - 30;
  const changed = `${one.text.slice(0, at)}${one.text[at] === 'A' ? 'B' : 'A'}${one.text.slice(at + 1)}`;
  await expect(seal.open(PLACE, { ...one, text: changed })).rejects.toThrow();
  for (const other of [{ name: 'B' }, { userId: 2 }, { userId: null }, { kind: 'file' as const }])
    await expect(seal.open({ ...PLACE, ...other }, one)).rejects.toThrow();
  await expect(new Seal([SECOND]).open(PLACE, one)).rejects.toThrow('BERTH_SECRET_KEYS');
});

test('H581: without a key nothing can be set, and the message names the setting', async () => {
  const message = expect.stringContaining('BERTH_SECRET_KEYS');
  await expect(set('A')).rejects.toMatchObject({ code: 'conflict', message });
  expect(await listSecrets({ db }, admin, 'secret')).toEqual([]);
});

test('H578: a value whose key is no longer in the setting counts as missing, and the message says so', async () => {
  await set('A', FIRST);
  const described = application(service({ environment: [['A', '{secret#A}']] }));
  expect(await findSecretProblem(contextWith(SECOND, FIRST), admin.user.id, described)).toBeUndefined();
  const problem = await findSecretProblem(contextWith(SECOND), admin.user.id, described);
  expect(problem).toContain('The key of secret A');
});

test('H832: values in the form of before 0.1.0 are converted, whichever statement the start ends at, and as soon as their key is there', async () => {
  const names = ['A', 'B', 'C'];
  for (const name of names) await setEarlier(name, FIRST);
  await setEarlier('CHANGED', FIRST, (text) => `${text.slice(0, 20)}AAAA${text.slice(24)}`);
  await setEarlier('OTHER', SECOND);
  const faulty = new FaultyDb(db);
  for (const failing of ['refused', 'committed', 'refused'] as const) {
    faulty.failing = failing;
    await expect(convertEarlierSecrets(faulty, [FIRST])).rejects.toThrow('the network is down');
  }
  faulty.failing = 'no';
  expect(await convertEarlierSecrets(faulty, [FIRST])).toBe(2);
  expect(await convertEarlierSecrets(faulty, [])).toBe(0);
  expect(await convertEarlierSecrets(faulty, [FIRST, SECOND])).toBe(1);
  for (const name of [...names, 'OTHER']) {
    const [secret] = await stored(name);
    expect(secret && (await new Seal([FIRST]).open(secret, secret.sealed))).toEqual(value);
  }
  const described = application(service({ environment: [['A', '{secret#CHANGED}']] }));
  expect(await findSecretProblem(contextWith(FIRST), admin.user.id, described)).toContain('secret CHANGED');
});

test('H583, H633: values are encrypted with a new key in bounded steps, and those of an unknown key or changed in the database do not hold up the others', async () => {
  for (let n = 0; n < 50; n++) await set(`S${n}`, FIRST);
  await set('OTHER', newKey());
  await db.batch([{ sql: 'UPDATE user_secrets SET sealed = substr(sealed, 5) WHERE id <= 25', args: [] }]);
  const both = contextWith(SECOND, FIRST);
  const rounds = [];
  for (let n = 0; n < 3; n++) rounds.push(await resealSecrets(both, admin));
  expect(rounds).toEqual([
    { encrypted: 20, left: 5, unreadable: 26 },
    { encrypted: 5, left: 0, unreadable: 26 },
    { encrypted: 0, left: 0, unreadable: 26 },
  ]);
  const [secret] = await stored('S44');
  expect(secret && (await new Seal([SECOND]).open(secret, secret.sealed))).toEqual(value);
  const audits = await db.query("SELECT id FROM audit WHERE action = 'encrypt-secrets'");
  expect(audits).toHaveLength(2);
});

test('H632: a list reads an index, and values that are too long together are not read', async () => {
  const plan = await db.query(`EXPLAIN QUERY PLAN ${LIST}`, [1, 'secret', 'secret']);
  const searches = plan.map(({ detail }) => String(detail)).filter((detail) => detail.startsWith('SEARCH'));
  expect(searches).toHaveLength(2);
  for (const detail of searches) expect(detail).toContain('COVERING INDEX');
  for (const name of ['A', 'B']) await set(name, FIRST);
  const names = ['A', 'B', 'B', 'NONE'].map((name) => ({ kind: 'secret' as const, name }));
  for (const [maxBytes, isRead] of [
    [2 * value.length, true] as const,
    [2 * value.length - 1, false] as const,
  ]) {
    const found = await findSealedSecrets(db, admin.user.id, names, maxBytes);
    const read = found.map(({ bytes, sealed }) => [bytes, sealed.text.length > 0]);
    expect(read).toEqual(Array(2).fill([value.length, isRead]));
  }
});

test('H631: a description refers to at most 1,000 different secrets and files', async () => {
  const environment = Array.from({ length: 1_001 }, (_, n): [string, string] => [`V${n}`, `{secret#S${n}}`]);
  const described = application(service({ environment }));
  expect(await findSecretProblem(contextWith(FIRST), admin.user.id, described)).toBe(
    'The description refers to 1001 secrets and files; the limit is 1000.',
  );
});

test('H635: who has lost the right meanwhile sets nothing for all users', async () => {
  const setForAll = () =>
    setSecret(contextWith(FIRST), admin, 'secret', async () => {
      await db.batch([{ sql: 'UPDATE roles SET can_change_config = 0', args: [] }]);
      return { name: 'A', value, isOfAll: true };
    });
  await expect(setForAll()).rejects.toMatchObject({ code: 'forbidden' });
  const [{ n } = {}] = await db.query('SELECT count(*) AS n FROM user_secrets');
  expect(n).toBe(0);
  expect(await set('A', FIRST)).toBeGreaterThan(0);
});

test('H577: requests at the same time set one value of a name, and no more than the limit', async () => {
  const context = { ...contextWith(FIRST), secretRules: { maxPerUser: 3 } };
  const setOne = (name: string) =>
    setSecret(context, admin, 'secret', async () => ({ name, value, isOfAll: false })).catch(
      (error: { code: string }) => error.code,
    );
  expect(new Set(await Promise.all(Array.from({ length: 10 }, () => setOne('SAME')))).size).toBe(1);
  const results = await Promise.all(Array.from({ length: 10 }, (_, n) => setOne(`S${n}`)));
  expect(results.filter((one) => one === 'conflict')).toHaveLength(8);
});

test('H634: metrics have what is stored, read once a minute, and the owner with most', async () => {
  for (const name of ['A', 'B']) await set(name, FIRST);
  let nowMs = 1_000;
  const metrics = new SecretMetrics({ db, nowMs: () => nowMs, maxPerUser: 100 }, new FetchCounts());
  const text = async () => metricsText(await metrics.families());
  expect(await text()).toContain('berth_secrets{kind="secret"} 2\n');
  await set('C', FIRST);
  expect(await text()).toContain('berth_secrets{kind="secret"} 2\n');
  nowMs += 60_000;
  const later = await text();
  for (const line of [
    'berth_secrets{kind="secret"} 3',
    'berth_secrets{kind="file"} 0',
    `berth_secret_bytes{kind="secret"} ${3 * value.length}`,
    'berth_limit_used{name="secrets_of_user",setting="BERTH_LIMITS.secretsPerUser"} 3',
    'berth_secret_fetches_total{outcome="excess"} 0',
  ])
    expect(later).toContain(`${line}\n`);
});
