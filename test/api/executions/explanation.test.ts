import { afterAll, describe, expect, test } from 'vitest';
import type { Explanation } from '../../../client/api-types.ts';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient, type Fields } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn, writeRow } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const GIB = 1024 ** 3;
const needing = (gibibytes: number, cores: number, changes: Partial<ServiceDescription> = {}) =>
  service({
    resources: { memory: { min: gibibytes * GIB, max: null }, cores: { min: cores, max: null } },
    ...changes,
  });
const reasonOf = ({ reasons }: Explanation, filter: string) =>
  reasons.find((reason) => reason.filter === filter);

onHosts(eitherGroup, (host, { variant }) => {
  const admin = new ApiClient(host);
  const queued = queuedIn(variant);

  test('H211, H212: without any host all executions wait for one, in queue order', async () => {
    const [first, second] = [await admin.submit(), await admin.submit()];
    expect(await admin.explain(first)).toEqual({
      status: queued,
      summary: 'It is number 1 of 2 in the queue.',
      ...{ position: 1, queue_length: 2 },
      waiting_for: [
        'The cluster has no host: start an agent on a machine to add one.',
        'Waiting alone is not enough: it would not fit even if nothing else ran.',
      ],
      reasons: [
        {
          ...{ instance: 'main0', instances: 1, filter: 'schedulable', hosts: 0, of_hosts: 0 },
          ...{ missing: null, largest: null, labels: null },
          text: 'The cluster has no host: start an agent on a machine to add one.',
        },
      ],
      ...{ quota: [], demand: { memory: 0, cores: 0.1, memory_limit: 512 * 2 ** 20 } },
      ...{ backfill_reserved_for: null, retry_at: null, fits_when_idle: false, placement: null },
    });
    expect(await admin.explain(second)).toMatchObject({ position: 2, queue_length: 2 });
    expect(await admin.explainSubmission(application(service()))).toMatchObject({
      ...{ status: null, position: 3, queue_length: 3 },
      summary: 'It would wait as number 3 of 3 in the queue.',
    });
    await admin.terminate(first);
    expect(await admin.explain(first)).toMatchObject({
      ...{ status: 'terminated', summary: 'It has ended: terminated.' },
      ...{
        position: null,
        queue_length: null,
        waiting_for: [],
        reasons: [],
        demand: null,
        fits_when_idle: null,
      },
    });
    expect(await admin.explain(second)).toMatchObject({ position: 1, queue_length: 1 });
    await admin.terminate(second);
  });

  // The other tests need hosts, and quotas by the API.
  if (variant !== 'B') return;

  const accounts = new AccountClient(host);
  const joined: ScriptedAgent[] = [];
  afterAll(() => Promise.all(joined.map((agent) => agent.close())));
  let pools = 0;
  let users = 0;

  /** Hosts of 8 GiB and 4 cores with a label of their own: a service with that label fits no other host. */
  async function poolOf(...names: string[]) {
    const label = `pool-${++pools}`;
    const facts = { labels: [label], memoryBytes: 8 * GIB, cores: 4 };
    const join = async (name: string) => {
      const agent = await ScriptedAgent.join(host(), { facts: { ...facts, name: `${name}-${label}` } });
      joined.push(agent);
      return agent;
    };
    const agents = await Promise.all(names.map(join));
    return { labels: [label], agents, join };
  }

  async function userWith(caps: Fields): Promise<ApiClient> {
    const username = `explained-${++users}`;
    const open = { concurrent_executions: 0, memory: 0, cores: 0 };
    const quota = await accounts.create('quota', { name: username, ...open, ...caps });
    await accounts.addUser(username, { quota_id: quota });
    return new ApiClient(host, username, 'secret words');
  }

  /** The explanation of an application before its submission, and of the submitted execution. */
  async function both(described: Application, api = admin): Promise<[Explanation, Explanation]> {
    const foretold = await api.explainSubmission(described);
    const id = await api.submit(described);
    const explained = await api.explain(id);
    await api.terminate(id);
    return [foretold, explained];
  }

  describe('demands that no host meets', () => {
    test('H212, H214: a demand for memory beyond every host is explained with the shortfall and the largest host', async () => {
      const { labels } = await poolOf('one', 'two');
      for (const answer of await both(application(needing(10, 1, { labels })))) {
        const reason = reasonOf(answer, 'memory');
        expect(reason).toMatchObject({
          hosts: 2,
          of_hosts: 2,
          missing: 2 * GIB,
          largest: 8 * GIB,
          labels: null,
        });
        expect(reason?.text).toMatch(
          /^main0 needs 10\.0 GiB of memory, but (one|two)-.+, the best fit of 2 hosts, has 8\.0 GiB free: 2\.0 GiB short\. None has more than 8\.0 GiB in all: request less, or add a larger host\.$/,
        );
        expect(answer.waiting_for).toContain(reason?.text);
        expect(answer.fits_when_idle).toBe(false);
      }
    });

    test('H212, H214: a demand for cores is explained with the shortfall while others run', async () => {
      const { labels, agents } = await poolOf('one');
      const id = await admin.submit(application(needing(1, 3.5, { labels })));
      await agents[0]?.assigned(id);
      for (const answer of await both(application(needing(1, 1, { labels })))) {
        expect(reasonOf(answer, 'cores')).toMatchObject({
          ...{ hosts: 1, of_hosts: 1, missing: 0.5, largest: 4 },
          text: `main0 needs 1 core, but one-${labels[0]}, the best fit, has 0.5 cores free: 0.5 cores short.`,
        });
        expect(answer).toMatchObject({ fits_when_idle: true, placement: null });
        expect(answer.waiting_for.at(-1)).toBe(
          'Waiting is enough: it fits when enough running services have ended.',
        );
      }
    });

    test('H212, H214: a label that no host has is explained with the remedy', async () => {
      await poolOf('one');
      for (const answer of await both(application(service({ labels: ['quantum'] })))) {
        const reason = reasonOf(answer, 'labels');
        expect(reason).toMatchObject({ hosts: reason?.of_hosts, missing: null, labels: ['quantum'] });
        expect(reason?.text).toMatch(
          /^main0 needs the label quantum, but no (usable )?host has this label: an administrator can add it to a host, or to BERTH_AGENT_LABELS of its agent\.$/,
        );
      }
    });

    test('H212: a gang is explained once for all its instances that find no host', async () => {
      const { labels } = await poolOf('one', 'two');
      const gang = application(needing(3, 0.5, { labels, total_count: 9, essential_count: 8 }));
      for (const answer of await both(gang)) {
        expect(reasonOf(answer, 'memory')).toMatchObject({
          ...{ instance: 'main4', instances: 4, hosts: 2, missing: GIB },
          text: expect.stringMatching(
            /^main4 and 3 more like it need 3\.0 GiB of memory each, but (one|two)-.+, the best fit of 2 hosts, has 2\.0 GiB free once 4 other services of the execution are placed: 1\.0 GiB short\.$/,
          ),
        });
      }
    });

    test('H212: hosts that are disconnected or drained are explained with the remedy', async () => {
      const { labels, agents, join } = await poolOf('one', 'two');
      const gang = application(needing(5, 1, { labels, total_count: 2, essential_count: 2 }));
      expect((await admin.explainSubmission(gang)).placement).toHaveLength(2);
      await agents[0]?.close();
      await eventually(async () => (await admin.explainSubmission(gang)).placement === null);
      const described = application(needing(5, 1, { labels }));
      expect((await admin.explainSubmission(described)).placement).toEqual([
        { host: `two-${labels[0]}`, instances: ['main0'] },
      ]);
      await writeRow(host(), 'UPDATE hosts SET schedulable = 0 WHERE name = ?', [`two-${labels[0]}`]);
      await host().crash();
      await host().start();
      await join('two');
      for (const answer of await both(described)) {
        const reason = reasonOf(answer, 'schedulable');
        // No other host has returned after the crash.
        expect(reason).toMatchObject({ hosts: reason?.of_hosts });
        expect(reason?.text).toMatch(
          /^\d+ of \d+ hosts take no new services: \d+ not connected \(start (its agent|their agents)\), 1 drained \(an administrator can make it schedulable again\)\.$/,
        );
        expect(answer.reasons).toHaveLength(1);
      }
    });
  });

  describe('limits by quota or time', () => {
    test.each<[string, Fields, object, string]>([
      [
        'executions',
        { concurrent_executions: 1 },
        { limit: 1, used: 1, wanted: 1, over: 1 },
        "The user's quota allows 1 execution at a time, of which 1 is in use: it starts when enough of the user's executions have ended, or when the quota is raised.",
      ],
      [
        'memory',
        { memory: 3 * GIB },
        { limit: 3 * GIB, used: 2 * GIB, wanted: 2 * GIB, over: GIB },
        "The user's quota allows 3.0 GiB of memory at a time, of which the limits of running services take 2.0 GiB; the limits of this start, 2.0 GiB, would exceed it by 1.0 GiB: it starts when enough of the user's executions have ended, or when the quota is raised.",
      ],
      [
        'cores',
        { cores: 2 },
        { limit: 2, used: 1.5, wanted: 1.5, over: 1 },
        "The user's quota allows 2 cores at a time, of which 1.5 cores are reserved; 1.5 cores more would exceed it by 1 core: it starts when enough of the user's executions have ended, or when the quota is raised.",
      ],
    ])(
      'H213, H214: a start beyond the cap on %s is explained with the numbers',
      async (dimension, caps, numbers, text) => {
        const { labels } = await poolOf('one');
        const user = await userWith(caps);
        const described = application(needing(2, 1.5, { labels }));
        await user.submit(described);
        for (const answer of await both(described, user)) {
          expect(answer).toMatchObject({ reasons: [], placement: null, fits_when_idle: true });
          expect(answer.quota).toEqual([{ dimension, ...numbers, text }]);
          expect(answer.waiting_for).toEqual([text]);
        }
        // The user's quota does not affect others.
        expect((await admin.explainSubmission(described)).quota).toEqual([]);
      },
    );

    test('H213: a start that failed temporarily is explained with the time of the next try', async () => {
      const { labels, agents } = await poolOf('one');
      const [agent] = agents;
      const described = application(needing(1, 3, { labels }));
      const id = await admin.submit(described);
      // It takes the capacity meanwhile, so that the duration of the test does not matter.
      const other = await admin.submit(described);
      const [assigned] = (await agent?.assigned(id)) ?? [];
      if (!agent || !assigned) throw new Error('not assigned');
      await agent.report(seen.failed(assigned, 'the engine is busy', true));
      await agent.report(seen.gone(assigned));
      const explained = await admin.explain(id);
      expect(explained).toMatchObject({ status: 'queued', quota: [], placement: null, fits_when_idle: true });
      expect(reasonOf(explained, 'cores')).toMatchObject({ hosts: 1, missing: 2 });
      expect(explained.retry_at).toBeGreaterThan((await admin.execution(id)).time_submit);
      const assignedOther = await agent.assigned(other);
      await admin.terminate(other);
      await agent.report(...assignedOther.map(seen.gone));
      await admin.reached(id, 'starting');
      expect(await admin.explain(id)).toMatchObject({ status: 'starting', retry_at: null });
    });
  });

  describe('applications before their submission', () => {
    test('H215: an application is placed as explained before its submission, and the explanation queues nothing', async () => {
      const { labels, agents } = await poolOf('one', 'two');
      const before = await admin.submit(application(needing(2, 1, { labels })));
      const described = application(
        needing(5, 1, { labels, total_count: 3, essential_count: 2 }),
        needing(1, 1, { labels, name: 'side', monitor: false }),
      );
      const foretold = await admin.explainSubmission(described);
      expect(foretold).toMatchObject({ status: null, summary: 'It would start at once.' });
      expect(foretold).toMatchObject({ reasons: [], quota: [], waiting_for: [], fits_when_idle: true });
      const id = await admin.submit(described);
      expect(id).toBe(before + 1);
      const places = await Promise.all(
        foretold.placement?.map(async ({ host, instances }) => {
          const agent = agents[host.startsWith('one') ? 0 : 1];
          const assigned = (await agent?.assigned(id, instances.length)) ?? [];
          return { host, instances: assigned.map(({ instance }) => instance) };
        }) ?? [],
      );
      expect(places).toEqual(foretold.placement);
      expect(places.flatMap(({ instances }) => instances).toSorted()).toEqual(['main0', 'main1', 'side0']);
    });

    test('H215: an invalid body is refused like a submission', async () => {
      const described = application(service());
      const bodies = [
        described,
        {},
        { name: 'x' },
        { name: '', application: described },
        { application: {} },
        [],
      ];
      for (const body of bodies) {
        const [reply, submission] = [
          await admin.http.post('execution/explain', body),
          await admin.http.post('execution', { name: 'x', ...body }),
        ];
        expect(reply.status).toBe(400);
        if ('application' in body) expect(reply.text).toBe(submission.text);
      }
      const named = await admin.http.post('execution/explain', { name: 'x', application: described });
      expect(named.status).toBe(200);
    });
  });

  describe('executions outside the queue', () => {
    test('H216: an execution is explained with what it waits for from the start to the end', async () => {
      const { labels, agents } = await poolOf('one');
      const [agent] = agents;
      if (!agent) throw new Error('no agent');
      const id = await admin.submit(
        application(
          needing(1, 1, { labels, startup_order: 1 }),
          needing(1, 1, { labels, name: 'base', monitor: false }),
        ),
      );
      const [base] = await agent.assigned(id);
      if (!base) throw new Error('not assigned');
      const { service: key, generation } = base;
      await agent.report({ service: key, generation, state: 'preparing', detail: 'pulling nginx:1, 42 %' });
      expect(await admin.explain(id)).toMatchObject({
        ...{ status: 'starting', position: null, placement: null },
        summary: '0 of 2 essential services are active.',
        waiting_for: [
          'main0: waiting for essential services that start earlier (lower startup_order).',
          `base0: being prepared on host one-${labels[0]} (pulling nginx:1, 42 %).`,
        ],
      });
      await agent.report(seen.running(base));
      const main = (await agent.assigned(id, 2)).find(({ instance }) => instance === 'main0');
      if (!main) throw new Error('not assigned');
      await agent.report(seen.running(main));
      expect(await admin.explain(id)).toMatchObject({
        ...{ status: 'running', waiting_for: [] },
        summary: 'All its essential services have started.',
      });
      await agent.report(seen.exited(main, 3));
      expect(await admin.explain(id)).toMatchObject({
        status: 'cleaning up',
        summary: 'It ends with an error when its containers are gone: service main0 ended with exit code 3',
        waiting_for: [`main0 and base0: being stopped on host one-${labels[0]}.`],
      });
      await agent.report(seen.gone(main), seen.gone(base));
      expect(await admin.explain(id)).toMatchObject({
        status: 'error',
        summary: 'It ended with an error: service main0 ended with exit code 3',
        ...{ waiting_for: [], reasons: [], quota: [] },
      });
    });

    test('H210: the explanation of a deleted or an unknown execution is 404', async () => {
      const id = await admin.submit(application(service({ labels: ['nowhere'] })));
      await admin.remove(id);
      for (const path of [`execution/${id}/explain`, 'execution/999999/explain', 'execution/x/explain'])
        expect((await admin.http.get(path)).status).toBe(404);
    });

    test('H210: a new coordinator explains a waiting execution in the same way', async () => {
      const { labels, join } = await poolOf('one');
      const id = await admin.submit(application(needing(9, 1, { labels })));
      const before = await admin.explain(id);
      await host().crash();
      await host().start();
      await join('one');
      const after = await admin.explain(id);
      expect(reasonOf(after, 'memory')).toEqual(reasonOf(before, 'memory'));
      expect(after.fits_when_idle).toBe(before.fits_when_idle);
    });
  });
});
