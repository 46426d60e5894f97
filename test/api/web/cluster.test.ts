import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { registeredHost, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { HostClient } from '../../support/clients/host-client.ts';
import { shown, WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
/** Entered in each field that accepts it. */
const NASTY = '"><img src=x onerror=alert(1)>';
const ESCAPED = '&quot;&gt;&lt;img src=x onerror=alert(1)&gt;';
let names = 0;

/** An application that fits on no host of the tests. */
const large = () =>
  application(
    service({ resources: { memory: { min: 900 * GIB, max: null }, cores: { min: 1, max: null } } }),
  );

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const api = new ApiClient(host);
  const VIEWER = 'viewer';
  const admin = WebClient.ofAdmin(host);
  let viewer: WebClient;
  let plain: WebClient;
  beforeAll(async () => {
    const role_id = await accounts.create('role', {
      name: VIEWER,
      can_access_api: true,
      can_see_status: true,
    });
    await accounts.addUser(VIEWER, { role_id });
    await accounts.addUser('plain');
    viewer = await WebClient.logIn(host, VIEWER, 'secret words');
    plain = await WebClient.logIn(host, 'plain', 'secret words');
  });

  const newName = (prefix: string) => `${prefix}${++names}`;

  async function ownHost(): Promise<{ agent: ScriptedAgent; id: number; name: string }> {
    const name = newName('host');
    const agent = await ScriptedAgent.join(host(), { facts: { name, labels: ['of-agent'] } });
    onTestFinished(() => agent.close());
    const { id } = await registeredHost(host(), name);
    return { agent, id, name };
  }

  test('W80: the pages require the right to see the status, and their forms the right to change it', async () => {
    const { id } = await ownHost();
    for (const path of ['/cluster', `/cluster/hosts/${id}`]) {
      expect((await plain.get(path)).status).toBe(403);
      const shown = await viewer.get(path);
      expect([shown.status, /<form[^>]*action="\/cluster/.test(shown.text)]).toEqual([200, false]);
      expect(shown.text).not.toContain('/cluster/join');
    }
    for (const path of ['/cluster/join', `/cluster/hosts/${id}/remove`])
      expect((await viewer.get(path)).status).toBe(403);
    for (const path of ['drain', 'undrain', 'labels', 'remove'])
      expect((await viewer.post(`/cluster/hosts/${id}/${path}`)).status).toBe(403);
    expect((await viewer.post('/cluster/join', { name: '', labels: '' })).status).toBe(403);
  });

  test('W81: each host is shown with its reservations, usage, conditions and facts', async () => {
    const { agent, id, name } = await ownHost();
    await agent.reportConditions({ kind: 'low-disk', text: 'it has 0.4 GiB free <b>' });
    await agent.use({ memoryBytes: 3 * GIB, cores: 0.25 });
    for (const path of ['/cluster', `/cluster/hosts/${id}`]) {
      const { text } = await admin.get(path);
      expect(text).toContain(name);
      expect(text).toContain('it has 0.4 GiB free &lt;b&gt;');
      expect(text).toContain('3.0 GiB in use');
      expect(text).toMatch(/none of \d+\.\d GiB reserved/);
      expect(text).toContain('of-agent');
    }
    expect((await admin.get('/cluster/hosts/999999')).status).toBe(404);
  });

  test('W237: beside what is reserved, the limits of memory are shown, also where they are the default', async () => {
    const { agent, id } = await ownHost();
    const memory = (min: number | null, max: number | null) => ({
      resources: { memory: { min, max }, cores: { min: 0.25, max: null } },
      labels: ['of-agent'],
    });
    const execution = await api.submit(
      application(service(memory(null, null)), service({ name: 'big', ...memory(GIB, 2 * GIB) })),
    );
    await agent.assigned(execution, 2);
    const page = (await admin.get(`/cluster/hosts/${id}`)).text;
    expect(page).toMatch(/1\.0 GiB of \d+\.\d GiB reserved/);
    expect(page).toContain('limits of 2.5 GiB in all');
    const { text } = await admin.get('/cluster');
    expect(text).toContain('limits of 2.5 GiB in all');
    expect(text).toContain('neither minimum nor maximum is limited to 512.0 MiB');
    expect(text).not.toContain('0 bytes');
    const one = (await api.http.get(`host/${id}`)).json();
    expect(one).toMatchObject({ host: { memory_reserved: GIB, memory_limits: 2.5 * GIB } });
    await api.terminate(execution);
    await agent.released(execution);
    await agent.report(...agent.known(execution).map(seen.gone));
    expect((await api.http.get(`host/${id}`)).json()).toMatchObject({ host: { memory_limits: 0 } });
  });

  test('W81, W168: waiting executions are shown with their reasons, once for all that have the same, but unnamed to users who may not see them', async () => {
    const execution = newName('waits');
    const submit = () => new ApiClient(host, 'plain', 'secret words').submit(large(), execution);
    const ids = [await submit(), await submit(), await submit()];
    const [all, veiled] = [await admin.get('/cluster'), await viewer.get('/cluster')];
    expect(all.text).toContain(execution);
    expect(all.text).toContain('plain, submitted');
    expect(all.text.match(/Waiting alone is not enough/g)).toHaveLength(1);
    expect(all.text).toContain('<h3>3 executions</h3>');
    for (const [at, id] of ids.entries())
      expect(all.text).toContain(`<li>${at + 1}. <a href="/executions/${id}">${execution}</a>`);
    expect(veiled.text).toContain('Another user&#39;s');
    expect(veiled.text).not.toContain(execution);
    expect(veiled.text).not.toContain('plain, submitted');
    for (const id of ids) await accounts.statusOf('DELETE', `execution/${id}`);
  });

  test('W82, W183: the last hour of the cluster, and of a host, is shown as a table, with the samples for the charts', async () => {
    const { agent, id } = await ownHost();
    await agent.use({ memoryBytes: 3 * GIB, cores: 0.5 });
    for (const path of ['/cluster', `/cluster/hosts/${id}`]) {
      const { text } = await admin.get(path);
      const samples = JSON.parse(/data-samples="([^"]*)"/.exec(text)?.[1] ?? '') as number[][];
      expect(Math.abs((samples.at(-1)?.[0] ?? 0) - Date.now() / 1_000)).toBeLessThan(60);
      const columns = (/data-columns="([^"]*)"/.exec(text)?.[1] ?? '').split(' ');
      expect(samples.every((one) => one.length === columns.length)).toBe(true);
      expect(text).toContain('Last hour as a table');
      if (path === '/cluster') continue;
      const [, , usedMemory, , , usedCores] = samples.at(-1) ?? [];
      expect([usedMemory, usedCores]).toEqual([3 * GIB, 0.5]);
      expect(text).toContain('<td>3.0 GiB</td>');
    }
  });

  test('W83: forms drain, undrain and label a host, and report the result', async () => {
    const { id, name } = await ownHost();
    const client = new HostClient(api.http);
    const at = `/cluster/hosts/${id}`;
    expect((await admin.act(`${at}/drain`)).text).toContain('The host is drained: it gets no new work');
    expect((await client.named(name)).state).toBe('drained');
    expect((await admin.act(`${at}/undrain`)).text).toContain('The host accepts work again.');
    await admin.act(`${at}/drain`, { force: 'on' });
    expect((await client.named(name)).schedulable).toBe(false);
    await admin.act(`${at}/labels`, { labels: ' gpu, ssd\tfast ' });
    expect((await client.named(name)).admin_labels).toEqual(['gpu', 'ssd', 'fast']);
    const refused = await admin.act(`${at}/labels`, { labels: 'x'.repeat(65) });
    expect(refused.text).toContain('must be 1 to 64 characters');
    expect((await client.named(name)).admin_labels).toEqual(['gpu', 'ssd', 'fast']);
  });

  test('W130: the page of a host shows what it offers beyond what was agreed, and an administrator accepts that offer only', async () => {
    const { agent, id, name } = await ownHost();
    expect((await admin.get(`/cluster/hosts/${id}`)).text).not.toContain('Offers more');
    await agent.close();
    await ScriptedAgent.join(host(), { facts: { name, labels: ['of-agent', NASTY] } }).then((again) =>
      onTestFinished(() => again.close()),
    );
    const { text } = await admin.get(`/cluster/hosts/${id}`);
    expect(text).toContain('This host offers more than was agreed');
    const offer = shown(/name="offer" value="([^"]*)"/.exec(text)?.[1]);
    const offered = JSON.parse(offer) as { labels: string[] };
    expect(offered.labels).toEqual(['of-agent', NASTY]);
    const at = `/cluster/hosts/${id}/accept`;
    const other = await admin.act(at, { offer: JSON.stringify({ ...offered, cores: 1000 }) });
    expect(other.text).toContain('this is not what host');
    expect((await admin.act(at, { offer: 'nonsense' })).text).toContain('must be JSON');
    expect((await admin.act(at, { offer: JSON.stringify(offered) })).text).toContain('are agreed');
    expect((await new HostClient(api.http).named(name)).labels).toEqual(['of-agent', NASTY]);
  });

  test('W84: a removal is confirmed first, and refused while the host may still run services', async () => {
    const { agent, id, name } = await ownHost();
    const own = service({ labels: [name] });
    await admin.act(`/cluster/hosts/${id}/labels`, { labels: name });
    const execution = await api.submit(application(own));
    await agent.assigned(execution);
    const confirmation = await admin.get(`/cluster/hosts/${id}/remove`);
    expect(confirmation.text).toContain('This host has 1 service and is connected');
    expect((await admin.act(`/cluster/hosts/${id}/remove`)).text).toContain('The host was not removed.');
    await agent.close();
    const away = await admin.get(`/cluster/hosts/${id}/remove`);
    expect(away.text).toContain('Its containers have stopped');
    const removed = await admin.act(`/cluster/hosts/${id}/remove`, { force: 'on' });
    expect(removed.text).toContain(`Host ${name} is removed.`);
    expect(removed.text).toContain(`Back in the queue: ${execution}.`);
    expect((await admin.get(`/cluster/hosts/${id}`)).status).toBe(404);
    await accounts.statusOf('DELETE', `execution/${execution}`);
  });

  test('W85: a join token is shown once with its command and its expiry time, and is valid for one host', async () => {
    const name = newName('joined');
    const made = await admin.post('/cluster/join', { name, labels: 'gpu ssd' });
    expect([made.status, made.headers['cache-control']]).toEqual([200, 'no-store']);
    const token = /<code id="token">([^<]+)</.exec(made.text)?.[1] ?? '';
    expect(made.text).toMatch(
      new RegExp(
        `/agent/install\\.sh \\| BERTH_BUNDLE_SHA256=[0-9a-f]{64} BERTH_JOIN_TOKEN=${token} BERTH_AGENT_NAME=${name} sh`,
      ),
    );
    expect(made.text).toMatch(/Valid until<\/dt><dd><time/);
    await registeredHost(host(), name, token);
    expect((await admin.get('/cluster')).text).toContain(name);
    expect((await admin.get('/cluster/join')).text).not.toContain(token);
    const bad = await admin.post('/cluster/join', { name: NASTY, labels: NASTY });
    expect([bad.status, bad.text.includes(ESCAPED), bad.text.includes(NASTY)]).toEqual([400, true, false]);
  });
});
