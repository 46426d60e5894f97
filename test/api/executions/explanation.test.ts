import { afterAll, expect, test } from 'vitest';
import type { Explanation } from '../../../client/api-types.ts';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

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

  /** Hosts of 8 GiB and 4 cores with a label of their own: a service with that label fits no other host. */
  async function poolOf(...names: string[]) {
    const labels = [`pool-${++pools}`];
    const facts = { labels, memoryBytes: 8 * GIB, cores: 4 };
    const agents = await Promise.all(
      names.map((name) => ScriptedAgent.join(host(), { facts: { ...facts, name: `${name}-${labels[0]}` } })),
    );
    joined.push(...agents);
    return { labels, agents };
  }

  /** The explanation of an application before its submission, and of the submitted execution. */
  async function both(described: Application, api = admin): Promise<[Explanation, Explanation]> {
    const foretold = await api.explainSubmission(described);
    const id = await api.submit(described);
    const explained = await api.explain(id);
    await api.terminate(id);
    return [foretold, explained];
  }

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
    for (const answer of await both(application(service({ labels: ['quantum'] })))) {
      const reason = reasonOf(answer, 'labels');
      expect(reason).toMatchObject({ hosts: reason?.of_hosts, missing: null, labels: ['quantum'] });
    }
  });

  test('H213, H214: a start beyond the cap on memory is explained with the numbers', async () => {
    const { labels } = await poolOf('one');
    const caps = { concurrent_executions: 0, memory: 3 * GIB, cores: 0 };
    const quota_id = await accounts.create('quota', { name: 'explained', ...caps });
    await accounts.addUser('explained', { quota_id });
    const user = new ApiClient(host, 'explained', 'secret words');
    const described = application(needing(2, 1.5, { labels }));
    await user.submit(described);
    const text =
      "The user's quota allows 3.0 GiB of memory at a time, of which the limits of running services take 2.0 GiB; the limits of this start, 2.0 GiB, would exceed it by 1.0 GiB: it starts when enough of the user's executions have ended, or when the quota is raised.";
    const numbers = { limit: 3 * GIB, used: 2 * GIB, wanted: 2 * GIB, over: GIB };
    for (const answer of await both(described, user)) {
      expect(answer).toMatchObject({ reasons: [], placement: null, fits_when_idle: true });
      expect(answer.quota).toEqual([{ dimension: 'memory', ...numbers, text }]);
      expect(answer.waiting_for).toEqual([text]);
    }
    // The user's quota does not affect others.
    expect((await admin.explainSubmission(described)).quota).toEqual([]);
  });

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
    await admin.waitFor(id, 'starting');
    expect(await admin.explain(id)).toMatchObject({ status: 'starting', retry_at: null });
  });

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

  test('H210: the explanation of a deleted or an unknown execution is 404', async () => {
    const id = await admin.submit(waiting);
    await admin.remove(id);
    for (const path of [`execution/${id}/explain`, 'execution/999999/explain', 'execution/x/explain'])
      expect((await admin.http.get(path)).status).toBe(404);
  });
});
