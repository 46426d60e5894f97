/** Round trips to a libSQL server far away, and changes by rights that have just ended. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AccountClient } from '../../../support/clients/account-client.ts';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { WebClient } from '../../../support/clients/web-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { type DistantDatabase, startDistantDatabase } from '../../../support/hosts/distant-database.ts';
import { ADMIN_PASSWORD, eitherGroup, type Host, startHost } from '../../../support/hosts/hosts.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DELAY_MS = 50;
const PASSWORD = 'a fair password';
const submission = { name: 'x', application: application(service()) };

describe.each(eitherGroup)('$kind, group $variant', (setup) => {
  let database: DistantDatabase;
  let host: Host;
  const anonymous = new HttpClient(() => host.url());
  const byPassword = anonymous.with(basic('admin', ADMIN_PASSWORD));

  beforeAll(async () => {
    database = await startDistantDatabase(DELAY_MS);
    host = await startHost(setup, { BERTH_DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await host.stop();
    await database.stop();
  });

  const newSession = async (username = 'admin', password = ADMIN_PASSWORD): Promise<HttpClient> => {
    const { cookie } = await WebClient.logIn(() => host, username, password);
    return anonymous.with({ cookie });
  };
  const newToken = async (): Promise<HttpClient> => {
    const reply = await byPassword.post('oauth/token', { grant_type: 'password' });
    const { access_token } = reply.json<{ access_token: string }>();
    return anonymous.with({ authorization: `Bearer ${access_token}` });
  };
  /** What makes a client by a new session or token. */
  const credentials: readonly (() => Promise<HttpClient>)[] =
    setup.variant === 'A' ? [() => newSession(), newToken] : [() => newSession()];

  const submit = async (client: HttpClient) => {
    const reply = await client.post('execution', submission);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ execution_id: number }>().execution_id;
  };
  /** Passes once a measurement has no more round trips: what Berth does beside it may add some. */
  const takes = (roundTrips: number, measure: () => Promise<number>) =>
    eventually(async () => (await measure()) <= roundTrips);
  /** Submits until the coordinator knows the credential of the client. */
  const makeKnown = (client: HttpClient) => takes(1, () => database.roundTripsOf(() => submit(client)));

  test('H382: a read by session or token, and a page of the list of executions, take one round trip', async () => {
    /** Passes once a read has taken one round trip: what Berth does beside it may add some. */
    const takesOne = (read: () => Promise<unknown>) =>
      eventually(async () => (await database.roundTripsOf(read)) === 1);
    const id = await submit(byPassword);
    const [serviceId] = (await byPassword.get(`execution/${id}`)).json<{ services: number[] }>().services;
    const ofB = [`execution/endpoints/${id}`, `execution/${id}/explain`, 'user', 'user/1', 'quota/1'];
    const paths = [
      ...[`execution/${id}`, `service/${serviceId}`, 'execution', 'execution?status=running'],
      ...['execution?limit=20', 'login', ...(setup.variant === 'B' ? ofB : [])],
    ];
    for (const credential of credentials) {
      const client = await credential();
      for (const path of paths)
        await takesOne(async () => expect((await client.get(path)).status, path).toBe(200));
    }
    const browser = await WebClient.logIn(() => host);
    await takesOne(() => browser.get('/executions'));
  });

  test('H383: a burst of changes by a session or token that is new to Berth is served, though the server takes fewer requests at once', async () => {
    for (const credential of credentials) {
      const client = await credential();
      await Promise.all(Array.from({ length: 250 }, () => submit(client)));
    }
  });

  test('H383: a change takes one round trip, and two by a session or token that is new to Berth', async () => {
    for (const credential of credentials) {
      await takes(2, async () => {
        const client = await credential();
        return database.roundTripsOf(() => submit(client));
      });
      const client = await credential();
      await makeKnown(client);
      const remove = async (path: string) => expect((await client.delete(path)).status).toBe(200);
      const ofWaiting = async (path: string) => {
        const id = await submit(client);
        return database.roundTripsOf(() => remove(`${path}/${id}`));
      };
      await takes(1, () => ofWaiting('execution'));
      await takes(1, () => ofWaiting('execution/delete'));
      // What has ended is in the database alone.
      await takes(2, async () => {
        const id = await submit(client);
        await remove(`execution/${id}`);
        return database.roundTripsOf(() => remove(`execution/delete/${id}`));
      });
    }
  });

  test('H383: a submission with an Idempotency-Key takes one round trip, and one more by a user whose keys are too many', async () => {
    let keys = 0;
    const submitWith = (client: HttpClient, key = `key-${keys++}`) =>
      database.roundTripsOf(() => submit(client.with({ 'idempotency-key': key })));
    await takes(2, async () => submitWith(await newSession()));
    const client = await newSession();
    await makeKnown(client);
    await takes(1, () => submitWith(client));
    await takes(1, () => submitWith(client, 'key-0'));
    await Promise.all(Array.from({ length: 110 }, () => submitWith(client)));
    await takes(2, () => submitWith(client));
    await takes(2, () => submitWith(client, 'key-0'));
  });

  test('H383: a login takes two round trips beside its password check', async () => {
    await takes(2, () => database.roundTripsOf(() => newSession()));
  });

  test('H383: a login by remembered Basic credentials takes one round trip', async () => {
    await takes(1, () => database.roundTripsOf(() => byPassword.get('login')));
  });

  if (setup.variant === 'B') {
    test('C222: a user who is disabled or whose role changes makes no change by earlier rights', async () => {
      const made = await byPassword.post('role', { name: 'submitter', can_access_api: true });
      const role = made.json<{ role_id: number }>().role_id;
      const user = await new AccountClient(() => host).addUser('alice', { role_id: role }, PASSWORD);
      const client = await newSession('alice', PASSWORD);
      await makeKnown(client);
      expect((await byPassword.post(`role/${role}`, { can_access_api: false })).status).toBe(200);
      expect((await client.post('execution', submission)).status).toBe(403);
      expect((await byPassword.post(`role/${role}`, { can_access_api: true })).status).toBe(200);
      await makeKnown(client);
      expect((await byPassword.post(`user/${user}`, { enabled: false })).status).toBe(200);
      expect((await client.post('execution', submission)).status).toBe(401);
    });
  }
});
