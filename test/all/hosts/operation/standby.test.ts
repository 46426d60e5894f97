/** Two control planes on Node with one libSQL server: what the one that waits serves. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeJoinToken } from '../../../../control-plane/operations/cluster/join-tokens.ts';
import { askToRegister, enrol, newAgentKey, proofOf, refusalOf } from '../../../support/agents/enrolment.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { basic, expectAnswer, HttpClient } from '../../../support/clients/http-client.ts';
import { WebClient } from '../../../support/clients/web-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { openDatabase } from '../../../support/hosts/databases.ts';
import { startNodeHost } from '../../../support/hosts/host-node.ts';
import { ADMIN_PASSWORD, type Host } from '../../../support/hosts/hosts.ts';
import { type Sqld, startSqld } from '../../../support/hosts/sqld.ts';
import { eventually } from '../../../support/tools/eventually.ts';

let database: Sqld;
let active: Host;
let waiting: Host;

beforeAll(async () => {
  database = await startSqld();
  active = await startStandby();
  waiting = await startStandby();
});
afterAll(async () => {
  await Promise.all([active?.stop(), waiting?.stop()]);
  await database?.stop();
});

async function startStandby(): Promise<Host> {
  const { url } = database;
  const host = await startNodeHost({
    ...{ variant: 'B', deployment: 'test', adminPassword: ADMIN_PASSWORD },
    env: { BERTH_STANDBY: 'on', BERTH_DATABASE_URL: url },
  });
  return { ...host, openDb: () => openDatabase(url) };
}

const at = (host: Host) => new HttpClient(() => host.url(), basic('admin', ADMIN_PASSWORD));
const isReady = async (host: Host) => (await at(host).get('/readyz')).status === 200;

test('C251, H411: the control plane that starts second waits, and its readyz states that', async () => {
  await eventually(() => isReady(active));
  const { status, text, headers } = await at(waiting).get('/readyz');
  expect([status, JSON.parse(text).message]).toEqual([
    503,
    'Not ready: this control plane is a standby, and another one is active.',
  ]);
  expect(headers['retry-after']).toBe('1');
  expect((await at(waiting).get('/healthz')).status).toBe(200);
});

test('H411: a standby serves what comes from the database alone', async () => {
  const id = await new ApiClient(() => active).submit();
  for (const path of ['execution', `execution/${id}`, 'user', 'role', 'quota', 'login', 'info']) {
    const [one, other] = [await at(active).get(path), await at(waiting).get(path)];
    expect([path, other.status, other.text]).toEqual([path, 200, one.text]);
  }
  const [first] = (await at(waiting).get(`execution/${id}`)).json<{ services: number[] }>().services;
  expect((await at(waiting).get(`service/${first}`)).status).toBe(200);
  const visitor = await WebClient.logIn(() => waiting);
  for (const path of ['/executions', `/executions/${id}`])
    expect([path, (await visitor.get(path)).status]).toEqual([path, 200]);
  expect((await at(waiting).post('app_validate', application(service()))).status).toBe(200);
});

test.each([
  ['POST', 'execution'],
  ['DELETE', 'execution/1'],
  ['DELETE', 'execution/delete/1'],
  ['POST', 'user'],
  ['POST', 'role'],
  ['POST', 'quota'],
  ['POST', 'host/token'],
  ['POST', 'oauth/token'],
  ['GET', 'host'],
  ['GET', 'events'],
  ['GET', 'statistics/scheduler'],
  ['GET', 'execution/1/explain'],
])('H411: at a standby, %s %s is 503 with what to do and when', async (method, path) => {
  const { status, text, headers } = await at(waiting).send(
    method,
    path,
    method === 'POST' ? '{}' : undefined,
  );
  expect(status).toBe(503);
  expect(JSON.parse(text).message).toMatch(
    /^This control plane is a standby: .*Send the request to that one/,
  );
  expect(headers['retry-after']).toBe('5');
});

test('H411: a form that changes something returns a page that states it', async () => {
  const admin = await WebClient.logIn(() => waiting);
  const reply = await admin.post('/executions/1/terminate', {});
  await expectAnswer(reply, 503, 'This control plane is a standby');
});

test('P192: a standby refuses agents with 503 and its reason, whatever they send', async () => {
  const db = await active.openDb();
  const key = newAgentKey();
  const id = await enrol({ url: active.url(), deployment: 'test' }, db, 'one', key);
  const { token } = await makeJoinToken(db, Date.now());
  await db.close();
  const body = { deployment: 'test', name: 'three', publicKey: newAgentKey().publicKey };
  const registration = await askToRegister({ url: waiting.url() }, token, body);
  expect(registration.status).toBe(503);
  expect(await registration.text()).toContain('This control plane is a standby');
  for (const authorization of [proofOf(id, 'test', key), 'Bearer nonsense']) {
    const response = await refusalOf(waiting.url(), authorization);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('This control plane is a standby');
  }
});
