/** Health checks and restart policies of services, on both hosts. */
import { expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import type { Health } from '../../../shared/protocol/health.ts';
import type { Observation } from '../../../shared/protocol/up.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const port = { name: 'Page', port_number: 80, protocol: 'tcp', url_template: 'http://{ip_port}/' } as const;
const health = { http: { path: '/', port: 80 } };
const web = service({ ports: [port], health, restart: { attempts: 1 } });

const withHealth = (of: Assignment, state: Health['state'], detail: string) =>
  ({ ...seen.running(of), health: { state, detail } }) as Observation;

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const { http: admin } = api;

  test('C288, C289, C290, H565, H566, H567, W147: a service is starting until it is healthy, has endpoints while it is, and dies of bad health', async () => {
    const pages = await WebClient.logIn(host);
    await using agent = await ScriptedAgent.join(host());
    const id = await api.submit(application(web));
    const assigned = await agent.only(id);
    expect(assigned.health).toEqual({
      ...{ kind: 'http', port: 80, path: '/' },
      ...{ intervalMs: 10_000, timeoutMs: 5_000, retries: 3, startPeriodMs: 30_000 },
    });
    const shown = async () => {
      const [endpoints, one, page] = await Promise.all([
        admin.get(`execution/endpoints/${id}`),
        admin.get(`/native/api/0.7/service/${assigned.service}`),
        pages.get(`/executions/${id}`),
      ]);
      return { endpoints: endpoints.json(), service: one.json(), page: page.text };
    };
    const names = async () =>
      (await admin.get(`discovery/by_group/${id}/main`)).json<{ dns_names: string[] }>();

    await agent.report(withHealth(assigned, 'starting', 'GET / on port 80: status 503'));
    const before = await shown();
    expect(before.endpoints).toEqual([]);
    expect(before.service).toMatchObject({
      ...{ status: 'starting', backend_status: 'started', health: 'starting', endpoints: [] },
      progress: 'GET / on port 80: status 503',
    });
    expect(before.page).toContain('not yet healthy');
    expect(before.page).toContain('GET / on port 80: status 503');
    expect((await names()).dns_names).toEqual([]);
    expect((await admin.get(`execution/${id}/explain`)).json()).toMatchObject({
      waiting_for: [
        expect.stringMatching(/^main0: waiting until it is healthy on host .* \(last check: GET \/ /),
      ],
    });

    await agent.report(withHealth(assigned, 'healthy', 'GET / on port 80: status 200'));
    const healthy = await shown();
    expect(healthy.endpoints).toHaveLength(1);
    expect(healthy.service).toMatchObject({ status: 'active', health: 'healthy' });
    expect(healthy.page).toContain('>healthy<');
    expect((await names()).dns_names).toHaveLength(1);

    const count = async () =>
      Number(/^berth_unhealthy_services_total (\d+)$/m.exec((await admin.get('/metrics')).text)?.[1]);
    const counted = await count();
    await agent.report(withHealth(assigned, 'unhealthy', 'GET / on port 80: status 500'));
    const unhealthy = await shown();
    expect(unhealthy.endpoints).toEqual([]);
    expect(unhealthy.service).toMatchObject({
      ...{ status: 'terminating', health: 'unhealthy', exit_code: null },
      error_message: 'service main0 was unhealthy: GET / on port 80: status 500',
    });
    expect(await count()).toBe(counted + 1);
    // Its restart policy lets the monitor start once more.
    await agent.report(seen.gone(assigned));
    const again = await eventually(() => agent.known(id).find(({ generation }) => generation === 2));
    await agent.report(withHealth(again, 'unhealthy', 'GET / on port 80: status 500'));
    await agent.report(seen.gone(again));
    expect((await admin.get(`execution/${id}`)).json()).toMatchObject({
      ...{ status: 'error' },
      error_message:
        'service main0 died more than 1 time in 10 minutes; the last time: service main0 was unhealthy: GET / on port 80: status 500',
    });
  });
});
