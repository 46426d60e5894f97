import { beforeAll, expect, test } from 'vitest';
import type { Application } from '../../../shared/application-schema.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, expectAnswer, HttpClient } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { eitherGroup, type Host, hosts, hostsOf, onHostsWith } from '../../support/hosts/hosts.ts';

const PASSWORD = 'long enough secret';

/** A client of a user who is made before the tests. */
function clientOf(host: () => Host, name: string) {
  const http = new HttpClient(() => host().url(), basic(name, PASSWORD));
  beforeAll(() => addUser(host(), name, PASSWORD, 'user'));
  return {
    submit: (described: Application = waiting) =>
      http.post('execution', { name: 'run', application: described }),
    http,
  };
}

const ofWaiting = { BERTH_LIMITS: JSON.stringify({ waiting: 4, waitingPerUser: 3 }) };

onHostsWith(ofWaiting, eitherGroup, (host, { variant }) => {
  const alice = clientOf(host, 'alice');
  const bob = clientOf(host, 'bob');
  const carol = clientOf(host, 'carol');

  test('H355, H356, H358: a user may have so many executions waiting; when all have filled the queue, others are admitted from a reserve', async () => {
    const ids: number[] = [];
    for (let at = 0; at < 3; at++)
      ids.push((await alice.submit()).json<{ execution_id: number }>().execution_id);
    const refused = await alice.submit();
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '30']);
    const message = variant === 'A' ? refused.json().message : refused.headers.status;
    expect(message).toContain('You have 3 executions waiting, and a user may have 3.');
    // The queue holds 4, and a reserve of a tenth, which is at least one.
    expect((await bob.submit()).status).toBe(200);
    expect((await bob.submit()).status).toBe(200);
    const full = await carol.submit();
    expect([full.status, full.headers['retry-after']]).toEqual([429, '30']);
    const text = String(variant === 'A' ? full.json().message : full.headers.status);
    expect(text).toContain('5 executions of all users are waiting, and the queue holds 4, and 1 more');
    expect((await alice.http.delete(`execution/${ids[0]}`)).status).toBe(200);
    expect((await carol.submit()).status).toBe(200);
  });

  test('W120: the web page shows the bound and how far it is reached', async () => {
    const web = await WebClient.logIn(host, 'carol', PASSWORD);
    const page = await web.post('/start?by=description', {
      ...{ name: 'run', description: JSON.stringify(waiting), action: 'submit' },
    });
    await expectAnswer(page, 429, 'executions of all users are waiting, and the queue holds 4');
  });
});

onHostsWith(ofWaiting, [...hostsOf('zoe-2018.12'), ...hostsOf('zoe-2017.12')], (host, { variant }) => {
  const alice = clientOf(host, 'alice');

  test('H359: a zoe variant answers 409 beyond a bound, as its clients expect', async () => {
    for (let at = 0; at < 3; at++) expect((await alice.submit()).status).toBe(201);
    const refused = await alice.submit();
    expect(refused.status).toBe(409);
    expect(variant === 'zoe-2017.12' ? refused.json().message : refused.reason).toContain(
      'You have 3 executions waiting, and a user may have 3.',
    );
  });
});

const ofTexts = { waitingBytesPerUser: '1MiB', textBytesPerExecution: '1MiB' };
const ofInstances = { placedInstances: 3, instancesPerExecution: 3 };
const ofSizes = { BERTH_LIMITS: JSON.stringify({ ...ofTexts, ...ofInstances }) };

onHostsWith(ofSizes, hosts, (host) => {
  const alice = clientOf(host, 'alice');
  const long = application(
    service({
      labels: ['nowhere'],
      environment: Array.from({ length: 6 }, (_, at): [string, string] => [`TEXT${at}`, 'x'.repeat(100_000)]),
    }),
  );
  const api = new ApiClient(host);

  test('H357: the descriptions of the waiting executions of a user have a bound in bytes', async () => {
    expect((await alice.submit(long)).status).toBe(200);
    await expectAnswer(alice.submit(long), 429, 'have 1.1 MiB, and those of a user may have 1.0 MiB');
    expect((await alice.submit()).status).toBe(200);
  });

  test('H360: an execution beyond the bound on its instances is refused', async () => {
    const four = application(service({ total_count: 4, essential_count: 1 }));
    await expectAnswer(alice.submit(four), 429, 'has 4 instances, and an execution may have 3');
  });

  test('H379: an execution whose instances have more texts in all than the bound is refused', async () => {
    const text = 'x'.repeat(100_000);
    const environment = ['A', 'B', 'C', 'D'].map((name): [string, string] => [name, text]);
    const large = application(service({ total_count: 3, essential_count: 3, environment }));
    await expectAnswer(
      alice.submit(large),
      429,
      'The texts of its 3 instances (command, environment and so on) have about 1.1 MiB in all, and those of an execution may have 1.0 MiB. Put them into a volume, or ask an administrator to raise BERTH_LIMITS.textBytesPerExecution.',
    );
    const body = { name: 'run', application: large };
    expect((await alice.http.post('execution/explain', body)).status).toBe(429);
  });

  test('C173, H361: the explanation says why an instance with long texts counts as more', async () => {
    const agent = await ScriptedAgent.join(host());
    const environment: [string, string][] = [['TEXT', 'x'.repeat(3_000)]];
    const id = await api.submit(application(service({ environment })));
    const { waiting_for } = await api.explain(id);
    expect(waiting_for[0]).toMatch(
      /^This Berth runs at most 3 instances at a time, of which 0 are in use; this start needs 4: .* An instance with more than 1 KiB of texts counts once for each KiB\.$/,
    );
    await api.terminate(id);
    await agent.close();
  });

  test('C173, H361: beyond the bound on placed instances an execution waits with that explanation, and starts when others end', async () => {
    await using agent = await ScriptedAgent.join(host());
    const two = application(service({ total_count: 2, essential_count: 2 }));
    const first = await api.submit(two);
    const second = await api.submit(two);
    expect((await api.execution(second)).status).toBe('queued');
    const { quota, placement, waiting_for } = await api.explain(second);
    expect([placement, quota]).toMatchObject([
      null,
      [{ dimension: 'instances', limit: 3, used: 2, wanted: 2, over: 1 }],
    ]);
    expect(waiting_for).toEqual([
      'This Berth runs at most 3 instances at a time, of which 2 are in use; this start needs 2: it starts when enough instances of any user have ended.',
    ]);
    const assigned = await agent.assigned(first, 2);
    await api.terminate(first);
    await agent.report(...assigned.map(seen.gone));
    expect(await agent.assigned(second, 2)).toHaveLength(2);
  });
});
