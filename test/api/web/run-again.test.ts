/** Running again what another user has described. */
import { beforeAll, expect, test } from 'vitest';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { NATIVE } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHostsWith } from '../../support/hosts/hosts.ts';

const NASTY = '"><script>alert(1)</script><img src=x onerror=alert(1)>';

onHostsWith({ BERTH_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64') }, hosts, (host) => {
  const api = new ApiClient(host);
  const ann = new ApiClient(host, 'ann', 'secret words');
  const admin = WebClient.ofAdmin(host);

  beforeAll(async () => {
    await new AccountClient(host).addUser('ann');
    // Each has values of these names, and the description has the names only.
    for (const { http } of [api, ann]) {
      for (const name of ['PROD_DB', 'PROD_KEY'])
        expect((await http.post(`${NATIVE}/secret`, { name, value: 'x' })).status).toBe(200);
      const file = { name: 'server.pem', value: btoa('x') };
      expect((await http.post(`${NATIVE}/file`, file)).status).toBe(200);
    }
  });

  test('W222: what another user has described is submitted only after a page that names what it gets', async () => {
    const theirs = {
      ...application(
        service({
          name: 'main',
          labels: ['nowhere'],
          image: 'anns/image:1',
          command: 'post \u202eeman',
          environment: [
            ['A', '{secret#PROD_DB}'],
            ['B', '{{secret#LITERAL}} {secret#PROD_KEY}'],
          ],
          files: [{ name: 'server.pem', path: '/etc/server.pem' }],
          volumes: [{ name: 'data', path: '/srv/data', read_only: false }],
        }),
      ),
      share: 'users' as const,
    };
    const id = await ann.submit(theirs, NASTY);
    const count = async () => Object.keys(await api.executions()).length;
    const before = await count();
    const names = [
      ...['ann', 'anns/image:1', 'post \\u202eeman', 'PROD_DB', 'PROD_KEY', 'server.pem at /etc/server.pem'],
      ...['/srv/data at /mnt/data, writable', 'everybody who is logged in', 'with your workspace'],
    ];
    const reviewed = ({ status, text }: { status: number; text: string }) => {
      expect(status).toBe(200);
      for (const name of names) expect(text).toContain(name);
      expect(text).not.toContain('main: LITERAL');
      expect(text).not.toContain('<script>alert');
    };
    reviewed(await admin.post(`/executions/${id}/again`));
    reviewed(await admin.post(`/executions/${id}/again`, { confirmed: '' }));
    expect(await count()).toBe(before);
    const start = await admin.get(`/start?from=${id}`);
    reviewed(start);
    reviewed(await admin.get(`/start?by=description&from=${id}`));
    const checked = { name: '', description: JSON.stringify(theirs), action: 'explain' };
    const { text } = await admin.post(`/start?by=description&from=${id}`, checked);
    expect(text).toContain('ann has described this');
    const sent = await admin.post(`/executions/${id}/again`, { confirmed: 'yes' });
    const next = Number(/^\/executions\/(\d+)$/.exec(sent.headers.location ?? '')?.[1]);
    expect((await api.execution(next)).description).toEqual((await api.execution(id)).description);
    // The copy is one's own.
    expect((await admin.get(`/start?from=${next}`)).text).not.toContain('has described this');
    expect((await admin.post(`/executions/${next}/again`)).status).toBe(303);
    for (const one of Object.keys(await api.executions())) await api.remove(Number(one));
  });
});
