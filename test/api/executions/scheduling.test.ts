import { describe, expect, onTestFinished, test } from 'vitest';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { type Host, hosts, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

let names = 0;

/** A host for one test only: only services with its label go there. */
async function ownHost(host: Host, cores: number, label = `own-${++names}`) {
  const name = `host-${++names}`;
  const agent = await ScriptedAgent.join(host, { facts: { name, cores, labels: [label] } });
  onTestFinished(() => agent.close());
  const requiring = (minCores: number, changes: Partial<ServiceDescription> = {}): ServiceDescription =>
    service({
      resources: { memory: { min: null, max: null }, cores: { min: minCores, max: null } },
      labels: [label],
      ...changes,
    });
  return { agent, label, requiring };
}

/** The agent's assignment for an instance of an execution. */
async function instance(agent: ScriptedAgent, execution: number, name: string, generation = 1) {
  const found = () =>
    [...agent.assignments.values()].find(
      (one) => one.execution === execution && one.instance === name && one.generation === generation,
    );
  const assignment = await eventually(found);
  if (!assignment) throw new Error(`${name} of execution ${execution} was not assigned`);
  return assignment;
}

async function endOn(api: ApiClient, agent: ScriptedAgent, execution: number): Promise<void> {
  const assigned = await agent.assigned(execution);
  await api.terminate(execution);
  await agent.report(...assigned.map(seen.gone));
}

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const accounts = new AccountClient(host);
  const statuses = (ids: readonly number[]) =>
    Promise.all(ids.map(async (id) => (await api.execution(id)).status));

  const end = (agent: ScriptedAgent, id: number) => endOn(api, agent, id);

  test('C63: the execution of the user with the higher priority starts first, even if the priority changes while it waits', async () => {
    const { agent, requiring } = await ownHost(host(), 1);
    const urgent = await accounts.addUser(`urgent-${++names}`);
    const theirs = new ApiClient(host, `urgent-${names}`, 'secret words');
    const described = application(requiring(1));
    const running = await api.submit(described);
    const ids = [await api.submit(described), await theirs.submit(described)];
    await accounts.update('user', urgent, { priority: 10 });
    await end(agent, running);
    expect(await statuses(ids)).toEqual(['queued', 'starting']);
    await end(agent, ids[1] ?? 0);
    await end(agent, ids[0] ?? 0);
  });

  describe('elastic services', () => {
    const elastic = (
      requiring: (cores: number, changes?: Partial<ServiceDescription>) => ServiceDescription,
    ): Application =>
      application(
        requiring(1),
        requiring(1, { name: 'work', monitor: false, total_count: 2, essential_count: 0, startup_order: 1 }),
      );

    async function running(cores: number) {
      const own = await ownHost(host(), cores);
      const id = await api.submit(elastic(own.requiring));
      await own.agent.report(seen.running(await instance(own.agent, id, 'main0')));
      expect(await statuses([id])).toEqual(['running']);
      return { ...own, id };
    }
    const services = async (id: number) => {
      const { services: ids } = await api.execution(id);
      return Promise.all(ids.map(async (one) => (await api.service(one)).status));
    };

    test('C16: an execution runs without its elastic services, which start where there is capacity and are discovered like others', async () => {
      const { agent, id, label } = await running(2);
      const work = await instance(agent, id, 'work0');
      await agent.report(seen.running(work));
      expect(await services(id)).toEqual(['active', 'active', 'inactive']);
      expect((await api.discovery(id, 'work')).dns_names).toEqual([`work0-${id}-test`]);
      const more = await ownHost(host(), 1, label);
      await more.agent.report(seen.running(await instance(more.agent, id, 'work1')));
      expect((await api.discovery(id, 'work')).dns_names).toEqual([`work0-${id}-test`, `work1-${id}-test`]);
      await api.terminate(id);
      await agent.released(id);
    });

    test('C67, C68: elastic services are preempted by an essential start, which waits until they are gone, and are placed again after it', async () => {
      const { agent, id, requiring } = await running(3);
      const works = [await instance(agent, id, 'work0'), await instance(agent, id, 'work1')];
      await agent.report(...works.map(seen.running));
      const gangId = await api.submit(application(requiring(1, { total_count: 2, essential_count: 2 })));
      const small = await api.submit(application(requiring(1)));
      expect(await statuses([id, gangId, small])).toEqual(['running', 'starting', 'queued']);
      expect(await services(id)).toEqual(['active', 'terminating', 'terminating']);
      expect(await services(gangId)).toEqual(['inactive', 'inactive']);
      await agent.report(...works.map((one) => seen.exited(one, 143)));
      await agent.report(...works.map(seen.gone));
      const gang = await agent.assigned(gangId, 2);
      await agent.report(...gang.map(seen.running));
      expect(await statuses([id, gangId, small])).toEqual(['running', 'running', 'queued']);
      await api.terminate(small);
      await end(agent, gangId);
      const back = [await instance(agent, id, 'work0', 2), await instance(agent, id, 'work1', 2)];
      await agent.report(...back.map(seen.running));
      expect(await services(id)).toEqual(['active', 'active', 'active']);
      const { services: ids, error_message } = await api.execution(id);
      expect(error_message).toBeNull();
      expect(await Promise.all(ids.map(async (one) => (await api.service(one)).error_message))).toEqual([
        null,
        null,
        null,
      ]);
      await api.terminate(id);
    });
  });
});

onHosts(
  hosts,
  (host) => {
    const api = new ApiClient(host);
    test('C62, C61: with SIZE and waterfill the smallest execution starts first, and the fullest host that fits is taken', async () => {
      const { agent, label, requiring } = await ownHost(host(), 1);
      const sized = (size: number) => api.submit({ ...application(requiring(1)), size });
      const running = await sized(5);
      const ids = [await sized(30), await sized(10), await sized(20)];
      const assigned = await agent.assigned(running);
      await api.terminate(running);
      await agent.report(...assigned.map(seen.gone));
      const statuses = await Promise.all(ids.map(async (id) => (await api.execution(id)).status));
      expect(statuses).toEqual(['queued', 'starting', 'queued']);
      for (const id of ids) await api.terminate(id);
      await agent.report(...[...agent.assignments.values()].map(seen.gone));

      const wide = await ownHost(host(), 4, `wide-${label}`);
      await ownHost(host(), 8, `wide-${label}`);
      const half = await api.submit(application(wide.requiring(2)));
      const again = await api.submit(application(wide.requiring(2)));
      expect(await wide.agent.assigned(half)).toHaveLength(1);
      expect(await wide.agent.assigned(again)).toHaveLength(1);
    });
  },
  { BERTH_QUEUE_POLICY: 'SIZE', BERTH_PLACEMENT_POLICY: 'waterfill' },
);

/** Long enough for two submissions, short enough to wait for. */
const RESERVE_AFTER_S = 5;

onHosts(
  hosts,
  (host) => {
    const api = new ApiClient(host);
    test('C70, C73: small executions pass a big one until it has a backfill reservation, and it starts when the reserved capacity is free', async () => {
      const { agent, requiring } = await ownHost(host(), 2);
      const statusOf = async (id: number) => (await api.execution(id)).status;
      const end = (id: number) => endOn(api, agent, id);
      const [small, big] = [application(requiring(1)), application(requiring(2))];
      const running = await api.submit(small);
      const waiting = await api.submit(big);
      const passing = await api.submit(small);
      expect([await statusOf(waiting), await statusOf(passing)]).toEqual(['queued', 'starting']);

      await end(passing);
      await eventually(
        async () => (await api.explainSubmission(small)).backfill_reserved_for === waiting,
        30_000,
      );
      const later = await api.submit(small);
      expect([await statusOf(waiting), await statusOf(later)]).toEqual(['queued', 'queued']);
      expect(await api.explain(later)).toMatchObject({
        backfill_reserved_for: waiting,
        fits_when_idle: true,
      });

      await end(running);
      expect([await statusOf(waiting), await statusOf(later)]).toEqual(['starting', 'queued']);
      await end(waiting);
      expect(await statusOf(later)).toBe('starting');
    });
  },
  { BERTH_LIMITS: JSON.stringify({ backfillReserveAfterS: RESERVE_AFTER_S }) },
);
