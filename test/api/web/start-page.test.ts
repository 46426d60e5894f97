import { expect, test } from 'vitest';
import { AccountClient } from '../../support/clients/account-client.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { basic, expectAnswer, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { formOf, PAGE, shown, WebClient } from '../../support/clients/web-client.ts';
import { application, service, waiting } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const BY_FORM = '/start?by=form';
const BY_DESCRIPTION = '/start?by=description';
const NASTY = '</textarea>"><img src=x onerror=alert(1)>';

const pretty = (value: unknown) => JSON.stringify(value, null, 2);
const typedOf = ({ text }: Reply) =>
  shown(/<textarea id="description"[^>]*>\n([^<]*)<\/textarea>/.exec(text)?.[1]);
const startedId = ({ status, headers }: Reply): number => {
  const [, id] = /^\/executions\/(\d+)$/.exec(headers.location ?? '') ?? [];
  expect([status, id]).toEqual([303, expect.any(String)]);
  return Number(id);
};
const simple = (fields: Record<string, string> = {}) => ({
  ...{ name: 'My page', image: 'nginx:alpine', command: '', memory: '64', memory_unit: 'MiB' },
  ...{ cores: '0.5', life: 'stays', environment: 'A=b' },
  ...{ 'port_number-0': '80', 'port_name-0': '', 'port_kind-0': 'http' },
  ...fields,
});

onHosts(hosts, (host) => {
  const api = new ApiClient(host);
  const accounts = new AccountClient(host);
  const admin = WebClient.ofAdmin(host);

  test('W9, W40: a description is submitted as it is, and the response leads to its execution', async () => {
    const described = { ...waiting, name: 'as-it-is' };
    const description = pretty(described);
    const id = startedId(await admin.post(BY_DESCRIPTION, { name: 'mine', description, action: 'submit' }));
    expect(await api.execution(id)).toMatchObject({ name: 'mine', description: described });
    const unnamed = async (body: unknown) => {
      const fields = { name: ' ', description: pretty(body), action: 'submit' };
      return (await api.execution(startedId(await admin.post(BY_DESCRIPTION, fields)))).name;
    };
    expect(await unnamed({ application: described })).toBe('as-it-is');
    expect(await unnamed({ name: 'of the body', application: described })).toBe('of the body');
  });

  test('W41: problems are reported at their lines, and what was typed is shown again as text', async () => {
    const description = pretty({ ...application(service({ image: `${NASTY} ${NASTY}` })), size: -1 });
    const reply = await admin.post(BY_DESCRIPTION, { name: NASTY, description, action: 'submit' });
    expect(reply.status).toBe(400);
    expect(reply.text).not.toContain('<img src=x');
    const line = 1 + description.split('\n').findIndex((one) => one.includes('"size"'));
    expect(reply.text).toContain(`data-line="${line}" data-column="3">Line ${line}, column 3</a>`);
    expect(reply.text).toContain('<code>services[0].image</code>');
    expect(typedOf(reply)).toBe(description);
  });

  test('W156: an empty description is a problem of its text once it is sent, and not before', async () => {
    const fresh = (await admin.get(BY_DESCRIPTION)).text;
    expect(fresh).not.toMatch(/class="problem"|aria-invalid/);
    for (const action of ['submit', 'explain']) {
      const { status, text } = await admin.post(BY_DESCRIPTION, { name: '', description: ' \n', action });
      expect(status).toBe(400);
      expect(text).toContain('Line 1, column 1</a>: the description is empty; type or paste it');
      expect(text).toMatch(/<textarea id="description"[^>]* aria-invalid="true">/);
    }
  });

  test('W41: an invalid name is reported at its field', async () => {
    const name = 'a'.repeat(129);
    const reply = await admin.post(BY_DESCRIPTION, { name, description: pretty(application(service())) });
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('id="name-problem"')]);
  });

  test('W107, W110: the page links the API documentation and the JSON Schema of descriptions', async () => {
    const { text } = await admin.get(BY_DESCRIPTION);
    expect(text).toContain('href="/docs"');
    expect(text).toContain('<a href="/schema/application-3.json">JSON Schema</a>');
  });

  test('W42: a check reports the problems of a text or what it needs to start, to logged-in users only', async () => {
    const check = (description: string) => admin.post('/start/check', { description });
    await expectAnswer(check('{\n  "name": "x",,\n}'), 200, 'data-line="2"');
    const valid = await check(pretty(application(service({ total_count: 3, essential_count: 2 }))));
    expect(shown(valid.text)).toContain(
      'test-application has 2 essential services, which start together, and 1 elastic service, added while there is capacity. To start it needs 0 bytes of memory and 0.2 cores on hosts; under the quota its memory limits count: 0 bytes, and the default limit for 2 services without one.',
    );
    expect((await check('')).text).not.toContain('class="problem"');
    const anyone = new HttpClient(() => host().url(), PAGE);
    expect((await anyone.send('POST', '/start/check', formOf({ description: '{}' }))).status).toBe(303);
  });

  test('W43, W9: the form is submitted as an application of one service', async () => {
    const id = startedId(await admin.post(BY_FORM, simple({ action: 'submit' })));
    expect(await api.execution(id)).toMatchObject({
      name: 'My page',
      description: { name: 'My-page', will_end: false, services: [{ image: 'nginx:alpine' }] },
    });
  });

  test('W43: problems are reported at their fields, and everything that was typed is shown again', async () => {
    const { status, text } = await admin.post(BY_FORM, simple({ image: NASTY, environment: '\n<b>' }));
    expect(status).toBe(400);
    expect(text).not.toContain('<img src=x');
    expect(text).toMatch(
      /<input id="image"[^>]*aria-describedby="image-hint image-problem" aria-invalid="true"/,
    );
    expect(text).toMatch(/id="environment-problem">Line 2 /);
    expect(text).toMatch(/<input id="port_number-0"[^>]* value="80"/);
  });

  test('W43: rows of ports are added and removed without script, and other fields stay', async () => {
    await expectAnswer(admin.post(BY_FORM, simple({ action: 'add-port' })), 200, 'name="port_number-1"');
    const fewer = await admin.post(BY_FORM, simple({ 'port_number-1': '81', action: 'remove-port-0' }));
    expect(fewer.text).toMatch(/<input id="port_number-0"[^>]* value="81"/);
    expect(fewer.text).not.toContain('name="port_number-1"');
    expect(fewer.text).toMatch(/<input id="name"[^>]* value="My page"/);
  });

  test('W44: Check placement explains the placement and queues nothing', async () => {
    const before = (await api.http.get('execution')).json();
    const reply = await admin.post(BY_FORM, simple());
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('The cluster has no host')]);
    expect(reply.text).toContain('it would stay queued until something changes');
    expect((await api.http.get('execution')).json()).toEqual(before);
  });

  test('W45: the limits of the quota are shown', async () => {
    const quota_id = await accounts.create('quota', {
      name: 'small',
      ...{ concurrent_executions: 3, memory: 2 ** 31, cores: 0 },
    });
    await accounts.addUser('quentin', { quota_id });
    const { text } = await (await WebClient.logIn(host, 'quentin', 'secret words')).get('/start');
    expect(text).toContain('Executions: 0 of 3 used');
    expect(text).toContain('Memory: 0 bytes of 2.0 GiB used');
    expect(text).toContain('Cores: 0 used, no limit');
  });

  test('W46: a user may start from an earlier execution that the user may read', async () => {
    const id = await api.submit(application(service({ command: `echo '${NASTY}'` })), 'again "and" again');
    const { text } = await admin.get(`/start?from=${id}`);
    expect(text).not.toContain('<img src=x');
    expect(shown(text)).toContain('value="again "and" again"');
    await accounts.addUser('eve');
    const eve = await WebClient.logIn(host, 'eve', 'secret words');
    for (const from of [String(id), '999999', 'x', ''])
      expect((await eve.get(`/start?from=${from}`)).status).toBe(404);
  });

  test('W170: an execution that the form has started opens in the form again, or as JSON on request', async () => {
    const id = startedId(await admin.post(BY_FORM, simple({ action: 'submit', environment: 'A=<b>' })));
    const form = (await admin.get(`/start?from=${id}`)).text;
    expect(form).toMatch(/<textarea id="environment"[^>]*>\nA=&lt;b&gt;<\/textarea>/);
    expect(form).toContain(`action="/start?by=form&amp;from=${id}"`);
    expect(form).toContain(`href="/start?by=description&amp;from=${id}"`);
    const json = await admin.get(`/start?by=description&from=${id}`);
    expect(JSON.parse(typedOf(json))).toEqual((await api.execution(id)).description);
  });

  test('W171: the page of the format lists every field, and its templates can be started from', async () => {
    const { text } = await admin.get('/start/format');
    expect(text).toContain('<code>resources.memory.max</code>');
    expect(text).toContain('<code>{dns_name#&lt;instance&gt;}</code>');
    const ids = [...text.matchAll(/href="\/start\?template=([a-z-]+)"/g)].map(([, id]) => id);
    expect(ids.length).toBeGreaterThan(3);
    for (const id of ids) {
      const { status, text } = await admin.get(`/start?template=${id}`);
      expect([id, status]).toEqual([id, 200]);
      expect(text).toMatch(/Valid: |name="image"/);
    }
    expect((await admin.get('/start?template=none')).status).toBe(404);
  });
});

onHosts([{ kind: 'node', variant: 'zoe-2018.12' }], (host) => {
  test('W45: where a submission beyond the quota is refused, the refusal is shown, and what was typed stays', async () => {
    const http = new HttpClient(() => host().url(), basic('admin', host().adminPassword));
    const made = async (kind: string, fields: object) =>
      (await http.post(kind, fields)).json<Record<string, number>>()[`${kind}_id`];
    const limits = { concurrent_executions: 1, memory: 0, cores: 0 };
    const quota_id = await made('quota', { name: 'one', ...limits });
    const user = await made('user', { username: 'dave', role_id: 2, quota_id });
    await http.post(`user/${user}`, { password: 'secret words' });
    const dave = await WebClient.logIn(host, 'dave', 'secret words');
    startedId(await dave.post(BY_FORM, simple({ action: 'submit' })));
    const { status, text } = await dave.post(BY_FORM, simple({ action: 'submit' }));
    expect([status, text]).toEqual([409, expect.stringContaining('more than 1 executions at a time')]);
    expect(text).toMatch(/<input id="name"[^>]* value="My page"/);
    const shop = await dave.post('/shop/hello-0', { name: 'My hello' });
    expect([shop.status, shop.text]).toEqual([409, expect.stringContaining('more than 1 executions at a')]);
    expect(shop.text).toContain('value="My hello"');
  });
});
