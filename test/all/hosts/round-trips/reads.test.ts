/** Round trips of reads to a libSQL server far away. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { sessionOf, WebClient } from '../../../support/clients/web-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { type DistantDatabase, startDistantDatabase } from '../../../support/hosts/distant-database.ts';
import { ADMIN_PASSWORD, eitherGroup, type Host, startHost } from '../../../support/hosts/hosts.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const DELAY_MS = 50;

describe.each(eitherGroup)('$kind, group $variant', (setup) => {
  let database: DistantDatabase;
  let host: Host;
  let id: number;
  let serviceId: number;
  const anonymous = new HttpClient(() => host.url());
  const byPassword = anonymous.with(basic('admin', ADMIN_PASSWORD));
  let bySession: HttpClient;

  beforeAll(async () => {
    database = await startDistantDatabase(DELAY_MS);
    host = await startHost(setup, { BERTH_DATABASE_URL: database.url });
    bySession = anonymous.with({ cookie: sessionOf(await byPassword.get('login')) });
    const submission = { name: 'x', application: application(service()) };
    id = (await bySession.post('execution', submission)).json<{ execution_id: number }>().execution_id;
    const { services } = (await bySession.get(`execution/${id}`)).json<{ services: number[] }>();
    serviceId = services[0] ?? 0;
  });
  afterAll(async () => {
    await host.stop();
    await database.stop();
  });

  /** Passes once a read has taken one round trip: what Berth does beside it may add some. */
  const takesOne = (read: () => Promise<unknown>) =>
    eventually(async () => (await database.roundTripsOf(read)) === 1);
  const eachTakesOne = async (client: HttpClient) => {
    for (const path of paths())
      await takesOne(async () => expect((await client.get(path)).status, path).toBe(200));
  };
  const paths = () => [
    `execution/${id}`,
    `service/${serviceId}`,
    ...(setup.variant === 'B' ? [`execution/endpoints/${id}`] : []),
    'execution',
    'execution?status=running',
    'execution?limit=20',
    ...(setup.variant === 'B' ? [`execution/${id}/explain`, 'user', 'user/1', 'quota/1'] : []),
    'login',
  ];

  test('H382: a read by cookie takes one round trip', async () => {
    await eachTakesOne(bySession);
  });

  test('H382: a page of the list of executions takes one round trip', async () => {
    const browser = await WebClient.logIn(() => host);
    await takesOne(() => browser.get('/executions'));
  });

  if (setup.variant === 'A') {
    test('H382: a read by token takes one round trip', async () => {
      const granted = await byPassword.post('oauth/token', { grant_type: 'password' });
      const { access_token } = granted.json<{ access_token: string }>();
      const byToken = anonymous.with({ authorization: `Bearer ${access_token}` });
      await eachTakesOne(byToken);
    });
  }
});
