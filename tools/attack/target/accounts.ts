/** Accounts of the attacks: logs in the given users, and lets the administrator make and remove others. */
import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { basic, type Reply } from './http.ts';
import type { Account, Target } from './target.ts';

const QUOTA_TRIES = 40;
const QUOTA_PAUSE_MS = 250;

interface RoleJson {
  id: number;
  can_access_api: boolean;
  can_operate_others: boolean;
  can_change_config: boolean;
}

export interface Passwords {
  user: string | undefined;
  admin: string | undefined;
}

/** Logs in and makes what the options allow. Throws if the target can't be used. */
export async function prepareAccounts(target: Target, passwords: Passwords): Promise<void> {
  const { user, admin } = target.options;
  const { accounts } = target;
  if (admin !== undefined) accounts.admin = await logIn(target, admin, passwords.admin ?? '');
  if (user !== undefined) accounts.attacker = await logIn(target, user, passwords.user ?? '');
  if (accounts.attacker && (await isAdministrator(target, accounts.attacker)))
    accounts.powerful = `${accounts.attacker.name} is an administrator`;
  if (!accounts.admin) return;
  if ((await target.sendAs(accounts.admin, 'GET', 'user')).status !== 200)
    throw new Error(`${admin} can't manage users: --admin must be an administrator of group B of the API`);
  const maker = await userMaker(target, accounts.admin);
  const made = async (kind: string) => {
    const { name, password } = await maker(kind);
    return logIn(target, name, password);
  };
  accounts.attacker ??= await made('attacker');
  accounts.victim = await made('victim');
  accounts.guest = await maker('guest');
  const role = await roleOf(target, accounts.admin, accounts.attacker.roleId);
  if (role?.can_operate_others || role?.can_change_config)
    accounts.powerful = `the role of ${accounts.attacker.name} may operate others or change the configuration`;
}

async function logIn(target: Target, name: string, password: string): Promise<Account> {
  const reply = await target.send({ path: 'login', headers: basic(name, password) });
  if (reply.status !== 200) throw new Error(`the login as ${name} answered ${reply.status}`);
  const { user, role } = JSON.parse(reply.text) as {
    user?: { id: number; role_id: number };
    role?: string;
  };
  const cookie = cookieOf(reply);
  if (cookie === undefined) throw new Error(`the login as ${name} gave no session cookie`);
  return { name, password, cookie, id: user?.id, roleId: user?.role_id, role };
}

/** Group A gives the name of the role, and group B lets only administrators see the users. */
const isAdministrator = async (target: Target, account: Account): Promise<boolean> =>
  account.role === 'admin' || (await target.sendAs(account, 'GET', 'user')).status === 200;

const cookieOf = ({ headers }: Reply): string | undefined =>
  headers['set-cookie']?.map((cookie) => cookie.split(';')[0] ?? '').find((cookie) => cookie !== '');

/** Makes ordinary users, who are removed at the end with their quota. */
async function userMaker(target: Target, admin: Account): Promise<(name: string) => Promise<Account>> {
  const mark = randomBytes(4).toString('hex');
  const roles = await target.jsonAs<Record<string, RoleJson>>(admin, 'GET', 'role');
  const role = Object.values(roles).find(
    ({ can_access_api, can_operate_others, can_change_config }) =>
      can_access_api && !can_operate_others && !can_change_config,
  );
  if (!role) throw new Error('no role may use the API without power over others');
  const limits = { name: `attack-${mark}`, concurrent_executions: 0, memory: 0, cores: 0 };
  const { quota_id } = await target.jsonAs<{ quota_id: number }>(admin, 'POST', 'quota', limits);
  target.ofAll.add(async () => {
    // A quota is in use until the containers and logs of its users are gone.
    for (let tries = 0; tries < QUOTA_TRIES; tries++) {
      const { status } = await target.undo(admin, 'DELETE', `quota/${quota_id}`, [200, 409]);
      if (status === 200) return;
      await setTimeout(QUOTA_PAUSE_MS);
    }
    throw new Error(`quota ${limits.name} is still in use`);
  });
  return async (kind) => {
    const name = `attack-${kind}-${mark}`;
    const password = randomBytes(18).toString('base64url');
    const fields = { username: name, role_id: role.id, quota_id };
    const { user_id } = await target.jsonAs<{ user_id: number }>(admin, 'POST', 'user', fields);
    target.ofAll.add(() => target.undo(admin, 'DELETE', `user/${user_id}`, [200]));
    const { status } = await target.sendAs(admin, 'POST', `user/${user_id}`, { password });
    if (status !== 200) throw new Error(`the password of ${name} could not be set: ${status}`);
    return { name, password, cookie: '', id: user_id, roleId: role.id, role: undefined };
  };
}

async function roleOf(target: Target, admin: Account, id?: number): Promise<RoleJson | undefined> {
  if (id === undefined) return undefined;
  const reply = await target.sendAs(admin, 'GET', `role/${id}`);
  return reply.status === 200 ? (JSON.parse(reply.text) as { role: RoleJson }).role : undefined;
}
