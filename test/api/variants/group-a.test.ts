import { expect, test } from 'vitest';
import { ApiClient } from '../../support/clients/api-client.ts';
import { onHosts, type Setup } from '../../support/hosts/hosts.ts';

const inA: readonly Setup[] = [
  { kind: 'node', variant: 'A' },
  { kind: 'workerd', variant: 'A' },
];

/**
 * The other differences are in the suites that run in both groups: errors, executions and execution-states.
 */
onHosts(inA, (host) => {
  const api = new ApiClient(host);

  test('H70: in group A login returns role and user name', async () => {
    const reply = await api.http.get('login');
    expect(reply.json()).toEqual({ role: 'admin', uid: 'admin' });
    expect(reply.headers['set-cookie']?.[0]).toContain('berth_session=');
  });
});
