import { beforeEach, expect, test } from 'vitest';
import type { AccountChange } from '../../../../control-plane/core/accounts/account-input.ts';
import type { SignOnSettings } from '../../../../control-plane/core/accounts/sign-on.ts';
import { accountFor } from '../../../../control-plane/operations/sign-on/account-for.ts';
import type { Db } from '../../../../control-plane/store/db/db.ts';
import { testDatabase } from '../../../support/hosts/memory-database.ts';

const ISSUER = 'https://id.example.org';
const SETTINGS: SignOnSettings = {
  ...{ issuer: ISSUER, clientId: 'berth', clientSecret: undefined, name: 'Example', scope: 'openid' },
  ...{ createsUsers: true, usernameClaim: 'preferred_username', groupsClaim: 'groups', groups: undefined },
  ...{ logoutHint: false, sessionMs: 1, tokensMs: 1 },
};

let db: Db;
beforeEach(async () => {
  db = await testDatabase();
});

/** Resolves to the change that is requested of the coordinator, which makes none. */
async function changeFor(settings: Partial<SignOnSettings>, claims: Record<string, unknown>) {
  const changes: AccountChange[] = [];
  const changeAccounts = async (change: AccountChange) => {
    changes.push(change);
    return { done: false, why: 'taken' } as const;
  };
  const deps = { db, coordinator: { changeAccounts }, isUsername: () => true };
  const statement = { issuer: ISSUER, subject: '7', claims, idToken: '' };
  const origin = { requestId: 'r', address: undefined };
  const making = accountFor(deps, { ...SETTINGS, ...settings }, statement, origin);
  const message = await making.then(String, (error: Error) => error.message);
  return { change: changes[0], message };
}

test('H531: without createUsers nobody is created, and the answer names the subject for an administrator', async () => {
  const { change, message } = await changeFor({ createsUsers: false }, { preferred_username: 'ann' });
  const asked = 'Ask an administrator of Berth to give a user the subject 7.';
  expect([change, message]).toEqual([undefined, `You have no user here yet. ${asked}`]);
});

test('H533: without a table of groups a new user has the role user and the quota default, and a table that names a role or a quota which does not exist admits nobody', async () => {
  const { change: usual } = await changeFor({}, { preferred_username: 'ann', groups: ['admin'] });
  expect(usual).toMatchObject({ kind: 'create-user', user: { roleId: 3, quotaId: 1, authSource: 'oidc' } });
  for (const wrong of [{ role: 'gone' }, { quota: 'gone' }]) {
    const groups = [{ group: '*', role: 'user', quota: 'default', ...wrong }];
    const { change, message } = await changeFor({ groups }, { preferred_username: 'ann' });
    expect(change).toBeUndefined();
    expect(message).toMatch(/BERTH_OIDC_OPTIONS.groups names the \w+ gone/);
  }
});

test('H531: an e-mail address that can not be one is left out', async () => {
  const emails = ['ann@example.org', 'a b', `${'x'.repeat(300)}@example.org`, 7, undefined];
  const kept = emails.map(async (email) => {
    const { change } = await changeFor({}, { preferred_username: 'ann', email });
    return change?.kind === 'create-user' ? change.user.email : undefined;
  });
  expect(await Promise.all(kept)).toEqual(['ann@example.org', '', '', '', '']);
});
