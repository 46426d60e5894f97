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

onHosts(
  [...inA, { kind: 'node', variant: 'B' }],
  (host, { variant }) => {
    const api = new ApiClient(host);

    test(`H127: with BERTH_EXECUTION_ENDPOINTS=off group ${variant} ${variant === 'A' ? 'has no' : 'still has'} execution/endpoints`, async () => {
      const id = await api.submit();
      const reply = await api.http.get(`execution/endpoints/${id}`);
      if (variant === 'A') {
        expect(reply.status).toBe(404);
        expect(reply.json()).toEqual({
          code: 'not-found',
          message: `There is no /api/0.7/execution/endpoints/${id} here.`,
        });
      } else {
        expect([reply.status, reply.json()]).toEqual([200, []]);
      }
      expect((await api.execution(id)).id).toBe(id);
    });
  },
  { BERTH_EXECUTION_ENDPOINTS: 'off' },
);
