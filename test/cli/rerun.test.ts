/** `berth rerun` of what another user has described. */
import { expect, test } from 'vitest';
import { AccountClient } from '../support/clients/account-client.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine } from '../support/clients/command-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { onHostsWith } from '../support/hosts/hosts.ts';

onHostsWith(
  { BERTH_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64') },
  [{ kind: 'node', variant: 'B' }],
  (host) => {
    const api = new ApiClient(host);
    const berth = adminLine(host);

    test('L230: rerun of what another user has described shows what it gets, and submits it with --as-me only', async () => {
      await new AccountClient(host).addUser('ann');
      const environment: [string, string][] = [['PASSWORD', '{secret#PROD_DB}']];
      const theirs = application(service({ labels: ['nowhere'], command: 'take \u001b[2J', environment }));
      const ann = new ApiClient(host, 'ann', 'secret words');
      for (const { http } of [api, ann])
        expect((await http.post('/native/api/0.7/secret', { name: 'PROD_DB', value: 'x' })).status).toBe(200);
      const id = await ann.submit(theirs);
      const listed = async () => Object.keys(await api.executions()).length;
      const before = await listed();
      for (const options of [[], ['--as-me', '--json']]) {
        const { code, out, err } = await berth.run(['rerun', String(id), ...options]);
        expect(err).toMatch(
          /ann's, not yours[\s\S]*Image: +main: [\s\S]*Command: +main: take [\s\S]*Secrets: +main: PROD_DB\n/,
        );
        expect(err).toMatch(/Files: +none\n[\s\S]*with your workspace/);
        expect(err).not.toContain('\u001b');
        expect([code, out === '', await listed()]).toEqual(
          options.length === 0 ? [125, true, before] : [0, false, before + 1],
        );
        if (options.length === 0) expect(err).toContain('--as-me');
        else await api.remove((JSON.parse(out) as { execution_id: number }).execution_id);
      }
      await api.remove(id);
    });
  },
);
