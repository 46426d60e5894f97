import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { testExecutionList } from '../../support/fixtures/execution-list.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const NASTY = '"><script>alert(1)</script><img src=x onerror=alert(1)>';

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const users: Record<string, number> = {};
  let admin: WebClient;

  beforeAll(async () => {
    admin = await WebClient.logIn(host);
    for (const name of ['ann', 'bob']) users[name] = await accounts.addUser(name);
  });

  testExecutionList(host, () => admin, users);

  describe('an execution', () => {
    const GIB = 1024 ** 3;
    let agent: ScriptedAgent;
    const api = new ApiClient(host);
    const detail = async (id: number, as = admin) => {
      const { status, text } = await as.get(`/executions/${id}`);
      expect(status, text).toBe(200);
      return text;
    };
    const steps = (text: string) =>
      [...text.matchAll(/<li[^>]*>\s*<strong>([a-z ]+)<\/strong>\s*<span>/g)].map(([, name]) => name);

    beforeAll(async () => {
      agent = await ScriptedAgent.join(host(), { facts: { name: 'web-host', labels: ['web'] } });
    });
    afterAll(() => agent.close());

    /** Waits until the execution must stop, and reports all its containers as gone. */
    const gone = async (id: number) => {
      await agent.released(id);
      await agent.report(...agent.known(id).map(seen.gone));
    };

    /** Two essential services and an elastic one, on the host of this test. */
    const described = application(
      service({
        name: 'main',
        labels: ['web'],
        ports: [port('page', 'http://{ip_port}/'), port(NASTY, 'ssh://{ip_port}', 81)],
      }),
      service({ name: 'side', labels: ['web'], monitor: false, total_count: 2, essential_count: 1 }),
    );

    test('W24: the page shows the states of the execution from queue to end, and why it ended', async () => {
      const id = await api.submit(described, 'A life');
      const assigned = await agent.assigned(id, 2);
      expect(steps(await detail(id))).toEqual(['submitted', 'queued', 'starting']);
      await agent.report(...assigned.map(seen.running));
      await api.waitFor(id, 'running');
      expect(steps(await detail(id))).toEqual(['submitted', 'queued', 'starting', 'running']);
      await agent.report(seen.exited(firstOf(assigned), 0));
      const cleaning = await detail(id);
      expect(steps(cleaning)).toEqual(['submitted', 'queued', 'starting', 'running', 'cleaning up']);
      expect(cleaning).not.toContain('form="terminate"');
      await gone(id);
      await api.waitFor(id, 'terminated');
      const text = await detail(id);
      expect(steps(text)).toEqual([
        'submitted',
        'queued',
        'starting',
        'running',
        'cleaning up',
        'terminated',
      ]);
      expect(text).toContain('Its service main0 exited with code 0, which ended the execution. It ran for ');
    });

    test('W22, W24, W169: the page shows services with links to their hosts, the progress of their starts, and endpoints', async () => {
      const id = await api.submit(described, NASTY);
      const assigned = await agent.assigned(id, 2);
      const { service: pulled, generation } = firstOf(assigned);
      await agent.report({
        service: pulled,
        generation,
        state: 'preparing',
        detail: 'pulling <b>2 of 5</b>',
      });
      const starting = await detail(id);
      expect(starting).toContain('pulling &lt;b&gt;2 of 5&lt;/b&gt;');
      expect(marksOf(starting)).toEqual(['main0 essential', 'side0 essential', 'side1 elastic']);
      await agent.report(...assigned.map(seen.running));
      await api.waitFor(id, 'running');
      const text = await detail(id);
      expect(text).toMatch(/href="http:\/\/192\.0\.2\.7:30080\/"/);
      // Other schemes are shown as text, and names of users are not markup.
      expect(text).not.toMatch(/href="ssh:/);
      expect(text).toContain('ssh://192.0.2.7:30081');
      expect(text).not.toMatch(/<script>|<img src=x/);
      expect(text).toContain('/logs?service=');
      // For roles that may see the cluster, the name of a host leads to its page.
      expect(text).toMatch(/<td><a href="\/cluster\/hosts\/\d+">web-host<\/a><\/td>/);
      const ann = await WebClient.logIn(host, 'ann', 'secret words');
      const reply = await accounts.as('ann').post('execution', { name: 'plain', application: described });
      const own = reply.json<{ execution_id: number }>().execution_id;
      await agent.assigned(own, 2);
      expect(await detail(own, ann)).toContain('<td>web-host</td>');
      for (const one of [id, own]) {
        await api.terminate(one);
        await gone(one);
      }
    });

    test('W169: the page shows the image, command, instances, memory and cores of each service, as text', async () => {
      const memory = { min: 2 * GIB, max: 3 * GIB };
      const one = service({
        name: 'one',
        labels: ['nowhere'],
        image: 'registry.example.org/team/app:1',
        command: `run '${NASTY}'`,
      });
      const id = await api.submit(
        application(
          { ...one, total_count: 7, resources: { memory, cores: { min: 0.5, max: 2 } } },
          ...Array.from({ length: 20 }, (_, n) => ({ ...one, name: `more${n}`, image: 'x'.repeat(250) })),
        ),
      );
      const text = await detail(id);
      const [row = ''] = /<tr>\s*<th scope="row">one<\/th>[\s\S]*?<\/tr>/.exec(text) ?? [];
      expect(
        row
          .replaceAll(/<[^>]*>|\s+/g, ' ')
          .replaceAll(/ +/g, ' ')
          .trim(),
      ).toBe(
        'one 7 registry.example.org/team/app:1 run &#39;&quot;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;&#39; 2.0 GiB at most 3.0 GiB 0.5 cores at most 2 cores',
      );
      expect(text).toContain(`<code>${'x'.repeat(199)}…</code>`);
      expect(text).toContain('1 more service in the JSON');
      await api.terminate(id);
    });

    test('W228, W229: the id is told from the name, a command keeps its lines, and the default limit of memory is a number', async () => {
      const command = 'sh -c "echo one\n  echo two"';
      const id = await api.submit(application(service({ labels: ['nowhere'], command })), 'fast log 20000');
      const text = await detail(id);
      expect(text).toContain(`<title>fast log 20000 #${id} · Berth</title>`);
      expect(text).toContain(`fast log 20000 <span class="quiet">#${id}</span>`);
      expect(text).toContain(escaped(command));
      expect(text).toContain('at most 512.0 MiB, the default');
      for (const page of ['logs', 'usage'])
        expect((await admin.get(`/executions/${id}/${page}`)).text).toContain(
          `fast log 20000 #${id} · Berth</title>`,
        );
      expect((await admin.get('/executions')).text).toContain(`<span class="quiet">#${id}</span>`);
      await api.terminate(id);
    });

    test('W24: the page shows a hundred services, and all of them on request', async () => {
      const id = await api.submit(application(service({ labels: ['nowhere'], total_count: 150 })));
      const rows = async (path: string) => marksOf((await admin.get(path)).text).length;
      expect(await rows(`/executions/${id}`)).toBe(100);
      expect(await detail(id)).toContain(`href="/executions/${id}?services=all"`);
      expect(await rows(`/executions/${id}?services=all`)).toBe(150);
      await api.terminate(id);
    });

    test('W206, W209: a running service leads to its terminal, another one states why not, and only the terminal loads its script', async () => {
      const id = await api.submit(described);
      const assigned = await agent.assigned(id, 2);
      const none = 'title="The service is not running."';
      const [main] = (await api.execution(id)).services;
      const path = `/executions/${id}/services/${main}/terminal`;
      expect((await detail(id)).split(none)).toHaveLength(4);
      const early = await admin.get(path);
      expect(early.text).toContain('The service is not running.');
      expect(early.text).not.toContain('/assets/terminal.');
      await agent.report(...assigned.map(seen.running));
      await api.waitFor(id, 'running');
      const running = await detail(id);
      expect(running).toContain(`href="${path}"`);
      expect(running).not.toContain('/assets/terminal.');
      const { text, headers } = await admin.get(path);
      expect(text).toContain(`berth exec -it ${id}/main0 -- sh`);
      for (const name of ['terminal.js', 'terminal.css']) expect(text).toContain(`/assets/${name}`);
      expect(headers['content-security-policy']).not.toContain('unsafe');
      expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
      expect((await admin.get(`/executions/${id + 1}/services/${main}/terminal`)).status).toBe(404);
      const ann = await WebClient.logIn(host, 'ann', 'secret words');
      expect((await ann.get(path)).status).toBe(404);
      await api.terminate(id);
      await gone(id);
      expect(await detail(id)).not.toContain(none);
    });

    test('W210, W213, W214: a running service leads to its files, which are downloaded without script', async () => {
      const id = await api.submit(described);
      const assigned = await agent.assigned(id, 2);
      const [main] = (await api.execution(id)).services;
      const path = `/executions/${id}/services/${main}/files`;
      const early = await admin.get(path);
      expect(early.text).toContain('The service is not running.');
      expect(early.text).not.toContain('/assets/files.js');
      expect(await detail(id)).not.toContain(`href="${path}"`);
      await agent.report(...assigned.map(seen.running));
      await api.waitFor(id, 'running');
      expect(await detail(id)).toContain(`href="${path}"`);
      const { text, headers } = await admin.get(path);
      for (const part of [`/srv`, `berth cp data.csv ${id}/main0:/srv`, '/assets/files.js'])
        expect(text).toContain(part);
      expect(headers['content-security-policy']).not.toContain('unsafe');
      const wanted = `${path}?${new URLSearchParams({ path: `/srv/${NASTY}`, form: 'tar' })}`;
      const foreign = await admin.get(wanted, { 'sec-fetch-site': 'cross-site' });
      expect([foreign.status, agent.streams]).toEqual([200, []]);
      const own = { 'sec-fetch-site': 'same-origin' };
      const refused = admin.get(wanted, own);
      (await agent.stream()).reset('none: no such file or folder');
      const { status, text: reason } = await refused;
      expect([status, reason]).toEqual([409, expect.stringContaining('none: no such file or folder')]);
      expect(reason).toContain('value="/srv/&quot;&gt;&lt;script&gt;');
      expect(reason).not.toContain(NASTY);
      const invalid = await admin.get(`${path}?path=srv`, own);
      expect([invalid.status, invalid.text]).toEqual([400, expect.stringContaining('must begin with /')]);
      const answer = admin.get(`${path}?path=/srv/f`, own);
      const stream = await agent.stream(1);
      stream.accept();
      await stream.write('content');
      stream.end(0);
      const { headers: sent, text: content } = await answer;
      expect([content, sent['content-disposition']]).toEqual(['content', "attachment; filename*=UTF-8''f"]);
      const ann = await WebClient.logIn(host, 'ann', 'secret words');
      expect((await ann.get(`${path}?path=/srv/f`)).status).toBe(404);
      expect((await admin.get(`/executions/${id + 1}/services/${main}/files`)).status).toBe(404);
      await api.terminate(id);
      await gone(id);
    });

    test('W25: for a waiting execution the page shows the reasons, its position and the remedies', async () => {
      const large = { memory: { min: 1_000 * GIB, max: null }, cores: { min: null, max: null } };
      const id = await api.submit(application(service({ labels: ['web'], resources: large })));
      const { summary, waiting_for } = await api.explain(id);
      const text = await detail(id);
      for (const sentence of [summary, ...waiting_for]) expect(text).toContain(escaped(sentence));
      await api.terminate(id);
      expect(await detail(id)).toContain('It was terminated before it ran.');
    });

    test('W22, W24: an error is shown in full, as text', async () => {
      const id = await api.submit(described);
      const assigned = await agent.assigned(id, 2);
      const message = `${NASTY} ${'m'.repeat(300)}`;
      await agent.report(seen.failed(firstOf(assigned), message));
      await gone(id);
      await api.waitFor(id, 'error');
      const text = await detail(id);
      expect(text).toContain(escaped(message));
      expect(text).not.toContain('<script>alert');
    });

    test('W26: the description is shown, and downloaded as it was submitted', async () => {
      const id = await api.submit(described);
      const { status, headers, text } = await admin.get(`/executions/${id}/description.json`);
      expect(status).toBe(200);
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['content-disposition']).toBe(`attachment; filename="execution-${id}.json"`);
      expect(JSON.parse(text)).toEqual(described);
      expect(await detail(id)).toContain(escaped(text.trimEnd()));
      await api.terminate(id);
    });

    test('W27: an execution is terminated, and submitted again under its name', async () => {
      const id = await api.submit(waiting, NASTY);
      const done = await admin.act(`/executions/${id}/terminate`);
      expect(done.text).toContain('The execution is being terminated.');
      expect((await api.execution(id)).status).toBe('terminated');
      const late = await admin.act(`/executions/${id}/terminate`);
      expect(late.text).toContain('The execution has already ended.');
      const again = await admin.post(`/executions/${id}/again`);
      const [, next] = /^\/executions\/(\d+)$/.exec(again.headers.location ?? '') ?? [];
      const [first, second] = [await api.execution(id), await api.execution(Number(next))];
      expect(second).toMatchObject({ name: first.name, description: first.description, status: 'queued' });
      await api.terminate(second.id);
    });

    test('W27: an execution is deleted after confirmation, by roles that may delete', async () => {
      const id = await api.submit(waiting, NASTY);
      const confirmation = await admin.post(`/executions/${id}/delete`);
      expect(confirmation.text).toContain('name="confirmed" value="yes"');
      expect(confirmation.text).not.toContain('<script>alert');
      expect((await api.execution(id)).status).toBe('queued');
      expect((await admin.act(`/executions/${id}/delete`, { confirmed: 'yes' })).text).toContain(
        'was deleted.',
      );
      expect((await api.http.get(`execution/${id}`)).status).toBe(404);
      const own = await new ApiClient(host, 'ann', 'secret words').submit(waiting);
      const ann = await WebClient.logIn(host, 'ann', 'secret words');
      expect((await ann.get(`/executions/${own}`)).text).not.toContain('form="delete"');
      expect((await ann.post(`/executions/${own}/delete`, { confirmed: 'yes' })).status).toBe(403);
      await api.terminate(own);
    });

    test('W21: executions of other users are not found, whatever is requested', async () => {
      const id = await api.submit(waiting);
      const ann = await WebClient.logIn(host, 'ann', 'secret words');
      for (const path of [
        `/executions/${id}`,
        `/executions/${id}/description.json`,
        '/executions/999999',
        '/executions/x',
      ])
        expect((await ann.get(path)).status, path).toBe(404);
      for (const action of ['terminate', 'again'])
        expect((await ann.post(`/executions/${id}/${action}`)).status, action).toBe(404);
      expect((await api.execution(id)).status).toBe('queued');
      await api.terminate(id);
    });
  });
});

const port = (name: string, url_template: string, port_number = 80) => ({
  name,
  port_number,
  protocol: 'tcp' as const,
  url_template,
});

/** `main0 essential` for each service. */
const marksOf = (text: string): string[] =>
  [...text.matchAll(/<th scope="row">(\w+) <span class="mark[^>]*>(\w+)</g)].map(
    ([, name, mark]) => `${name} ${mark}`,
  );

const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');

function firstOf<T>([first]: readonly T[]): T {
  if (first === undefined) throw new Error('there is none');
  return first;
}
