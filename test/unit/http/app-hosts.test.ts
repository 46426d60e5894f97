/** Requests at the host names of applications: what reaches the relay, and what its answers become. */
import { beforeEach, expect, test } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import type { AppRequest } from '../../../control-plane/core/streams/app-request.ts';
import { ReadTurns } from '../../../control-plane/guard/read-turns.ts';
import { UserShares } from '../../../control-plane/guard/user-shares.ts';
import type { AcceptApp } from '../../../control-plane/http/apps/accept-app.ts';
import { withAppHosts } from '../../../control-plane/http/apps/app-hosts.ts';
import { digest } from '../../../control-plane/operations/accounts/digest.ts';
import { Sessions } from '../../../control-plane/operations/accounts/sessions.ts';
import { AppVisits, TICKET_MS } from '../../../control-plane/operations/apps/app-visits.ts';
import { Passwords } from '../../../control-plane/operations/passwords/passwords.ts';
import { Seal } from '../../../control-plane/operations/secrets/seal.ts';
import { findAccountBySession } from '../../../control-plane/store/accounts/users.ts';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addExecutions } from '../../support/fixtures/execution-rows.ts';
import { FaultyDb, memoryDatabase } from '../../support/hosts/memory-database.ts';

const HOST = '8080-1.apps.example.org';
const SECRET = 's'.repeat(43);
const HOUR_MS = 3_600_000;
const PORT = { name: 'web', port_number: 8080, protocol: 'tcp', url_template: 'http://{ip_port}/' } as const;

type Fetch = ReturnType<typeof withAppHosts>;

let db: Db;
let nowMs = 1_700_000_000_000;
let visits: AppVisits;
let session: string;
/** What reached the relay. */
let passed: { request: AppRequest; isKnown: boolean }[] = [];
let answer: () => Response | Promise<Response>;
/** Whether a permit is alive. */
let isPermitted = false;
let fetchApp: Fetch;
/** Tables that were read since. */
let read: string[] = [];

beforeEach(async () => {
  db = await memoryDatabase();
  const deps = { db, nowMs: () => nowMs, deploymentName: 'test' };
  visits = new AppVisits(deps);
  session = await new Sessions({ ...deps, credentialsEnded: async () => {}, maxSessionsPerUser: 5 }).open({
    id: 1,
    credentialVersion: 1,
  });
  passed = [];
  answer = () => new Response('hello');
  [isPermitted, read] = [false, []];
  fetchApp = appHosts();
  const row = { id: 1, name: 'test', userId: 1, submitMs: 0, startMs: 0, endMs: null };
  await addExecutions(db, [{ ...row, status: 'running' }], application(service({ ports: [PORT] })));
  await db.query(
    `INSERT INTO hosts (id, name, address, labels, memory_bytes, cores, schedulable, agent_version, engine_version,
      last_contact_ms, lost) VALUES (7, 'host1', '192.0.2.1', '[]', 1, 1, 1, '', '', 0, 0)`,
  );
  await db.query(
    `INSERT INTO services (id, execution_id, name, service_group, status, backend_status, host_id, placed, generation,
      ports, deaths_ms, forgotten) VALUES (1, 1, 'main0', 'main', 'active', 'started', 7, 1, 1, '[]', '[]', 0)`,
  );
  return () => db.close();
});

/** The user of the session, as a page has it. */
async function actor() {
  const account = await findAccountBySession(db, digest(session), nowMs);
  if (!account) throw new Error('there is no session');
  return { kind: 'user', credential: { by: 'session', tokenHash: digest(session) }, ...account } as const;
}
const ticketFor = async (host = HOST) =>
  visits.grant(await actor(), { place: host, visit: digest(SECRET), next: '/tree' });
const passOf = async () => (await visits.enter(await ticketFor(), HOST, SECRET))?.pass ?? '';

function appHosts(): Fetch {
  const site = { scheme: 'https', suffix: '.apps.example.org', port: '' } as const;
  const reading = new FaultyDb(db);
  reading.afterQuery = (sql) => void read.push(/ FROM (\w+)/.exec(sql)?.[1] ?? '');
  const deps = {
    ...{ db: reading, nowMs: () => nowMs, deploymentName: 'test', minPasswordLength: 10 },
    coordinator: {} as never,
    openLog: {} as never,
    turns: new ReadTurns(() => nowMs),
    shares: new UserShares(() => nowMs),
    seal: new Seal([]),
    passwords: new Passwords(),
    apps: { site, publicUrl: 'https://berth.example.net', sharesSite: false },
    addressOf: () => '192.0.2.9',
    log: () => {},
    acceptApp: async (...[, request, isKnown]: Parameters<AcceptApp>) => {
      passed.push({ request, isKnown });
      if (isKnown && !isPermitted) return undefined;
      const { status, body, headers } = await answer();
      return {
        headers: [...headers],
        respond: (others: readonly [string, string][]) =>
          new Response(body, { status, headers: new Headers([...others]) }),
      };
    },
  };
  return withAppHosts(deps, () => new Response('Berth', { status: 418 }));
}

const send = async (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetchApp(new Request(`http://${HOST}${path}`, { method, headers: { host: HOST, ...headers } }));
const failing = (code: 'unavailable' | 'conflict' | 'too-many') => () => {
  throw new OperationError(code, 'Nothing listens at port 8080.');
};
const withPass = async () => ({ cookie: `__Host-berth_app=${await passOf()}; mine=1` });

test('H725: a ticket is valid for a minute and once, and the cookie for as long as the session', async () => {
  const ticket = await ticketFor();
  const atOnce = await Promise.all(Array.from({ length: 5 }, () => visits.enter(ticket, HOST, SECRET)));
  expect(atOnce.filter((one) => one !== undefined)).toHaveLength(1);
  const late = await ticketFor();
  nowMs += TICKET_MS + 1_000;
  expect(await visits.enter(late, HOST, SECRET)).toBeUndefined();
  const entered = await visits.enter(await ticketFor(), HOST, SECRET);
  expect(entered).toMatchObject({ next: '/tree', maxAgeS: 12 * 3_600 - 61 });
  expect((await visits.admit(entered?.pass ?? '', HOST))?.user.username).toBe('alice');
  expect(await visits.admit(entered?.pass ?? '', '8081-1.apps.example.org')).toBeUndefined();
  nowMs += 12 * HOUR_MS;
  expect(await visits.admit(entered?.pass ?? '', HOST)).toBeUndefined();
});
test('H725: neither is valid for what the other is, nor after a change of the credentials', async () => {
  const pass = await passOf();
  expect(await visits.enter(pass, HOST, SECRET)).toBeUndefined();
  expect(await visits.admit(await ticketFor(), HOST)).toBeUndefined();
  expect(await visits.admit(session, HOST)).toBeUndefined();
  await db.query('UPDATE users SET credential_version = credential_version + 1 WHERE id = 1');
  expect(await visits.admit(pass, HOST)).toBeUndefined();
});
test('H726, H727: the relay gets what the application may have, and who asks', async () => {
  const secrets = { authorization: 'Basic YWxpY2U6eA==', 'x-berth-user': 'root', x_berth_user: 'root' };
  const headers = { ...(await withPass()), ...secrets, range: 'bytes=1-' };
  const response = await send('/tree/a%20b?x=1&x=2', headers);
  expect(await response.text()).toBe('hello');
  expect(passed.map(({ request }) => request)).toEqual([
    {
      subscriber: {
        ...{ userId: 1, credentialVersion: 1, ownerId: 1, use: { kind: 'use-app', shared: false } },
        credential: { by: 'session', tokenHash: digest(session) },
      },
      ...{ serviceId: 1, hostId: 7, port: 8080, method: 'GET', path: '/tree/a%20b?x=1&x=2' },
      headers: [
        ['host', HOST],
        ['cookie', 'mine=1'],
        ['range', 'bytes=1-'],
        ['x-forwarded-for', '192.0.2.9'],
        ['x-forwarded-host', HOST],
        ['x-forwarded-proto', 'https'],
        ['x-berth-user', 'alice'],
      ],
      doer: expect.objectContaining({
        ...{ userId: 1, username: 'alice', credential: 'session', targetId: 1, address: '192.0.2.9' },
      }),
    },
  ]);
  expect(JSON.stringify(passed)).not.toContain('__Host-berth');
});
test('H728: the browser gets what the application may set, also from an answer whose headers are fixed', async () => {
  const pass = await withPass();
  // Anew for each answer: Node's server keeps the very object.
  const plain = () => {
    const policy = "default-src 'self'";
    const headers = new Headers({ 'clear-site-data': '"*"', 'content-security-policy': policy });
    for (const cookie of ['a=1; Domain=example.org', 'b=2; Path=/', '__Host-berth_app=x; Path=/; Secure'])
      headers.append('set-cookie', cookie);
    return new Response('hello', { status: 206, headers });
  };
  const fixed = () => {
    const response = plain();
    const value = () => expect.unreachable('the headers are fixed');
    Object.defineProperty(response.headers, 'delete', { value });
    return response;
  };
  for (answer of [plain, fixed]) {
    const response = await send('/', pass);
    expect([response.status, await response.text()]).toEqual([206, 'hello']);
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2; Path=/']);
    expect(response.headers.get('clear-site-data')).toBeNull();
    const policy = response.headers.get('content-security-policy');
    expect(policy).toBe("default-src 'self', frame-ancestors 'self'");
  }
});
test('H731: one that does not answer yet is waited for, and other errors are not', async () => {
  const pass = await withPass();
  for (answer of [failing('unavailable'), failing('conflict')]) {
    const page = await send('/', { ...pass, accept: 'text/html' });
    expect([page.status, page.headers.get('refresh')]).toEqual([503, '3']);
    expect(await page.text()).toContain('Nothing listens at port 8080.');
  }
  answer = failing('too-many');
  const busy = await send('/', { ...pass, accept: 'text/html' });
  expect([busy.status, busy.headers.get('refresh')]).toEqual([429, null]);
  answer = () => Promise.reject(new Error('a bug with a secret'));
  const failed = await send('/', pass);
  expect([failed.status, (await failed.text()).includes('secret')]).toEqual([500, false]);
});

test('H762: under a live permit nothing is read; without one, and if its application is down, the database decides', async () => {
  const pass = await withPass();
  isPermitted = true;
  expect((await send('/', pass)).status).toBe(200);
  expect(read).toContain('services');
  read = [];
  expect((await send('/', pass)).status).toBe(200);
  expect(passed.map(({ isKnown }) => isKnown)).toEqual([false, true]);
  const [first, second] = passed.map(({ request }) => ({ ...request, doer: null }));
  expect(second).toEqual(first);
  expect(read.filter((table) => table !== 'secrets')).toEqual([]);
  isPermitted = false;
  expect((await send('/', pass)).status).toBe(200);
  expect(passed.map(({ isKnown }) => isKnown)).toEqual([false, true, true, false]);
  isPermitted = true;
  answer = failing('unavailable');
  expect((await send('/', pass)).status).toBe(503);
  await db.query("UPDATE executions SET status = 'terminated'");
  expect((await send('/', pass)).status).toBe(410);
  isPermitted = false;
  await db.query('DELETE FROM sessions');
  expect((await send('/', pass)).status).toBe(401);
});
test('H762: what is known of a session is of no use to a pass of another user or before a new password', async () => {
  expect((await send('/', await withPass())).status).toBe(200);
  await db.query('UPDATE users SET credential_version = 2 WHERE id = 1');
  await db.query('UPDATE sessions SET credential_version = 2');
  expect((await send('/', await withPass())).status).toBe(200);
  expect(passed.map(({ isKnown }) => isKnown)).toEqual([false, false]);
});
