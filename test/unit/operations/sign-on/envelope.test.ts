import { beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { Envelope } from '../../../../control-plane/operations/sign-on/envelope.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../../support/hosts/memory-database.ts';

const content = z.object({ secret: z.string() });
let db: Db;
let nowMs: number;
beforeEach(async () => {
  db = await testDatabase();
  nowMs = 1_700_000_000_000;
});

const sealOf = (kind = 'one', deploymentName = 'here', remembered = 0) =>
  new Envelope({ db, nowMs: () => nowMs, deploymentName }, kind, content, remembered);

test('H535: what a browser keeps of a sign-on is opened only by the deployment that sealed it, for its purpose, and in time', async () => {
  const sealed = await sealOf().close({ secret: 'nonce' }, 600_000);
  expect(await sealOf().open(sealed)).toMatchObject({ secret: 'nonce' });
  expect(await sealOf('other').open(sealed)).toBeUndefined();
  expect(await sealOf('one', 'there').open(sealed)).toBeUndefined();
  nowMs += 599_000;
  expect(await sealOf().open(sealed)).toBeDefined();
  nowMs += 2_000;
  expect(await sealOf().open(sealed)).toBeUndefined();
});

test('H535: it shows nothing of its content, and any change of it, or anything else, is refused', async () => {
  const sealed = await sealOf().close({ secret: 'nonce' }, 600_000);
  for (const part of sealed.split('.'))
    expect(Buffer.from(part, 'base64url').toString('latin1')).not.toContain('nonce');
  const [head = '', key = '', iv = '', text = '', tag = ''] = sealed.split('.');
  const changed = `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;
  for (const wrong of ['', 'x', 'a.b.c', [head, key, iv, changed, tag].join('.'), 'a'.repeat(100_000)])
    expect(await sealOf().open(wrong)).toBeUndefined();
});

test('H760: an envelope that is remembered ends in time as well, and another one is not taken for it', async () => {
  const seal = sealOf('one', 'here', 2);
  const first = await seal.close({ secret: 'first' }, 60_000);
  const second = await seal.close({ secret: 'second' }, 600_000);
  const all = () => Promise.all([first, second, `${first}x`].map((one) => seal.open(one)));
  for (let n = 0; n < 2; n++)
    expect(await all()).toEqual([{ secret: 'first' }, { secret: 'second' }, undefined]);
  nowMs += 61_000;
  expect(await all()).toEqual([undefined, { secret: 'second' }, undefined]);
});
