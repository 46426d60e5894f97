import { afterAll, expect, test } from 'vitest';
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queuedIn } from '../../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
const needing = (gibibytes: number, cores: number, changes: Partial<ServiceDescription> = {}) =>
  service({
    resources: { memory: { min: gibibytes * GIB, max: null }, cores: { min: cores, max: null } },
    ...changes,
  });
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

  // The other tests need hosts, and are the same in both groups.
  if (variant !== 'B') return;
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
