/** A submission with Idempotency-Key whose control plane is killed between the commit and the answer. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRemote } from '../../../../control-plane/store/db/remote.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { HttpClient } from '../../../support/clients/http-client.ts';
import { WebClient } from '../../../support/clients/web-client.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';
import { type DistantDatabase, startDistantDatabase } from '../../../support/hosts/distant-database.ts';
import { type Host, hosts, startHost } from '../../../support/hosts/hosts.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const submission = { name: 'once', application: application(service()) };
/** Within which a test finds that a commit took place, and kills the control plane. */
const DELAY_MS = 2_000;

describe.each(hosts)('$kind, far from its database', (setup) => {
  let database: DistantDatabase;
  let host: Host;
  const api = new ApiClient(() => host);

  beforeAll(async () => {
    database = await startDistantDatabase(0);
    host = await startHost(setup, { BERTH_DATABASE_URL: database.url });
  });
  afterAll(async () => {
    await host.stop();
    await database.stop();
  });

  test('C260, H60: a repeat makes nothing after a kill -9 between the commit and the answer', async () => {
    const db = openRemote(database.serverUrl);
    try {
      const key = 'key-0';
      const known = async () =>
        (await db.query('SELECT made_id FROM idempotency_keys WHERE key = ?', [key])).map(
          (row) => row.made_id,
        );
      const { cookie } = await WebClient.logIn(() => host);
      const keyed = new HttpClient(() => host.url(), { cookie, 'idempotency-key': key });
      database.setDelay(DELAY_MS);
      const outcome = keyed.post('execution', submission).then(
        ({ status }) => `answered ${status}`,
        () => 'lost',
      );
      await eventually(async () => (await known()).length === 1);
      await host.crash();
      expect(await outcome).toBe('lost');
      database.setDelay(0);
      await host.start();
      const repeat = await api.http.with({ 'idempotency-key': key }).post('execution', submission);
      expect(repeat.json()).toEqual({ execution_id: (await known())[0] });
      expect(repeat.headers['idempotent-replayed']).toBe('true');
      expect(Object.keys(await api.list()).map(Number)).toEqual(await known());
    } finally {
      await db.close();
    }
  });
});
