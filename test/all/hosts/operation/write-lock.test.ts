/** Another process holds the write lock of the embedded database. */
import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import { ScriptedAgent } from '../../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../../support/clients/api-client.ts';
import { basic, HttpClient } from '../../../support/clients/http-client.ts';
import { application } from '../../../support/fixtures/applications.ts';
import { ADMIN_PASSWORD, onHosts } from '../../../support/hosts/hosts.ts';

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  const anonymous = new HttpClient(() => host().url());
  const admin = anonymous.with(basic('admin', ADMIN_PASSWORD));

  test('H810: writes are 503 with Retry-After and the reason, reads and healthz go on, the agent stays connected, and all works afterwards', async () => {
    const agent = await ScriptedAgent.join(host());
    const isConnected = async () => (await new ApiClient(host).host('host1')).connected;
    expect(await isConnected()).toBe(true);
    const other = new Database(join(host().dataDir ?? '', 'berth.db'));
    other.exec('BEGIN IMMEDIATE');
    try {
      const submission = { name: 'locked', application: application() };
      const writes = [
        admin.post('execution', submission),
        admin.post('user', {
          username: 'locked',
          email: '',
          role_id: 3,
          quota_id: 1,
          fs_uid: 5000,
          auth_source: 'internal',
        }),
        admin.post('/native/api/0.7/token', { name: 'ci', scopes: ['read'] }),
        anonymous.with(basic('admin', 'wrong')).get('login'),
      ];
      for (const write of writes) {
        const { status, headers, text } = await write;
        expect([status, headers['retry-after']], text).toEqual([503, '1']);
        expect(text).toContain('Another program is writing to the database');
      }
      for (const path of ['/healthz', '/readyz', 'execution'])
        expect((await admin.get(path)).status).toBe(200);
      expect(await isConnected()).toBe(true);
    } finally {
      other.exec('COMMIT');
      other.close();
    }
    const again = await admin.post('execution', { name: 'after', application: application() });
    expect(again.status, again.text).toBe(200);
    expect(await isConnected()).toBe(true);
    await agent.close();
  });
});
