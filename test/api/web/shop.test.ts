import { expect, test } from 'vitest';
import { AccountClient, ROLE } from '../../support/clients/account-client.ts';
import { basic, expectAnswer, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { PAGE, shown, WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { manifest, ScratchShop, zapp } from '../../support/fixtures/shops.ts';
import { sparkFolder, sparkManifest } from '../../support/fixtures/spark-shop.ts';
import { ADMIN_PASSWORD, hosts, onHosts, startHost } from '../../support/hosts/hosts.ts';

const valuesOf = ({ text }: Reply): Record<string, string | undefined> =>
  Object.fromEntries(
    [...text.matchAll(/<input id="[^"]*" name="([^"]*)"[^>]*?(?: value="([^"]*)")/g)].map(
      ([, name, value]) => [name, value],
    ),
  );

onHosts(hosts, (host) => {
  const api = () => new HttpClient(() => host().url(), basic('admin', ADMIN_PASSWORD));
  const admin = WebClient.ofAdmin(host);

  test('W73: the shop shows its applications by category, with logo, name and summary', async () => {
    const { status, text } = await admin.get('/shop');
    expect(status).toBe(200);
    const parts = [...text.matchAll(/<h2>(.*?)<\/h2>|<h3><a href="(.*?)">|<img class="logo" src="(.*?)"/g)];
    expect(parts.map(([, category, link, logo]) => category ?? link ?? logo)).toEqual([
      'Batch',
      '/shop/elastic-batch-0/logo',
      '/shop/elastic-batch-0',
      'Web',
      '/shop/hello-0/logo',
      '/shop/hello-0',
      '/shop/two-tier-0/logo',
      '/shop/two-tier-0',
    ]);
    expect(text).toContain('One container that greets you on its web page');
    expect(text).not.toContain('Problems in the app shop');
  });

  test('W74: an application page has its text, and a form with each parameter, its limits and its default', async () => {
    const { text } = await admin.get('/shop/elastic-batch-0');
    expect(text).toContain('<strong>essential</strong>');
    expect(text).toMatch(
      /name="service_count:worker"[^>]* type="number" min="1" max="16" step="1" value="4"/,
    );
    expect(text).toMatch(
      /name="resources:worker\.cores"[^>]* type="number" min="0\.1" max="2" step="0\.1" value="0\.1"/,
    );
    expect(text).toMatch(/<textarea id="command:worker"[^>]*>\nsh -c /);
    expect(text).toContain('8.0 MiB to 256.0 MiB.');
    expect(valuesOf(await admin.get('/shop/hello-0'))).toMatchObject({
      name: 'hello',
      'environment:GREETING': 'Hello, {user_name}, from {dns_name#self}',
    });
  });

  test('W75: a submitted form starts an execution with its values, and leads to it', async () => {
    const order = {
      name: 'my batch',
      'service_count:worker': '3',
      'environment:ROUNDS': '7',
      'command:worker': 'a\r\nb',
      'resources:leader.memory': '40000000',
      'resources:worker.memory': '0.0625',
      'resources:worker.memory_unit': 'GiB',
    };
    const started = await admin.post('/shop/elastic-batch-0', order);
    expect(started.status).toBe(303);
    const [, id] = /^\/executions\/(\d+)$/.exec(String(started.headers.location)) ?? [];
    const execution = (await api().get(`execution/${id}`)).json() as {
      name: string;
      description: { services: unknown[] };
    };
    expect(execution.name).toBe('my batch');
    expect(execution.description.services).toMatchObject([
      { environment: [['ROUNDS', '7']], resources: { memory: { min: 40_000_000 } } },
      { total_count: 3, essential_count: 1, command: 'a\nb', resources: { memory: { min: 2 ** 26 } } },
    ]);
    await api().delete(`execution/${id}`);
  });

  test('W75: problems are shown at their fields with what was typed, and nothing is started', async () => {
    const before = Object.keys((await api().get('execution')).json() as object);
    const order = {
      name: '<b>',
      'service_count:worker': '99',
      'environment:ROUNDS': '"><script>',
      'resources:leader.memory': 'much',
      'resources:leader.memory_unit': 'GiB',
      'resources:worker.memory': '0.5',
      'resources:worker.memory_unit': 'GiB',
      'environment:"><b>': 'x',
    };
    const refused = await admin.post('/shop/elastic-batch-0', order);
    await expectAnswer(refused, 400, /id="service_count:worker-problem">must be at most 16</);
    expect(refused.text).toMatch(/id="environment:ROUNDS-problem">must be a whole number</);
    // A fold that contains a problem is open.
    expect(refused.text).toMatch(/<details open>.*id="resources:leader\.memory-problem"/s);
    expect(refused.text).toMatch(/id="resources:leader\.memory-problem">must be a number</);
    expect(refused.text).toMatch(/id="resources:worker\.memory-problem">must be at most 256\.0 MiB</);
    expect(refused.text.match(/<option value="GiB" selected/g)).toHaveLength(2);
    expect(refused.text).toContain('environment:&quot;&gt;&lt;b&gt; is not a parameter of this application');
    expect(valuesOf(refused)).toMatchObject({
      name: '&lt;b&gt;',
      'service_count:worker': '99',
      'environment:ROUNDS': '&quot;&gt;&lt;script&gt;',
      'resources:leader.memory': 'much',
      'resources:worker.memory': '0.5',
    });
    expect(refused.text).not.toMatch(/<script>|<b>/);
    expect(Object.keys((await api().get('execution')).json() as object)).toEqual(before);
  });

  test('W75: a form with any number of fields is refused with a short page', async () => {
    for (const [count, status] of [
      [6_000, 400],
      [20_000, 413],
    ] as const) {
      const fields = Object.fromEntries(Array.from({ length: count }, (_, at) => [`e:${at}`, '1']));
      const refused = await admin.post('/shop/hello-0', fields);
      expect([count, refused.status]).toEqual([count, status]);
      if (status === 400) expect(refused.text).toContain('more than 5000 fields');
      expect(refused.text.length).toBeLessThan(20_000);
    }
  });

  test('W76: Check placement starts nothing and keeps what was typed', async () => {
    const order = { name: 'a try', 'service_count:worker': '3', do: 'explain' };
    const checked = await admin.post('/shop/elastic-batch-0', order);
    await expectAnswer(checked, 200, 'Placement check');
    expect(valuesOf(checked)).toMatchObject({ name: 'a try', 'service_count:worker': '3' });
  });

  test('W77: a picture is served under a policy that runs nothing, to users of the application only', async () => {
    const picture = await admin.get('/shop/hello-0/logo');
    expect([picture.status, picture.headers]).toMatchObject([
      200,
      {
        'content-type': 'image/svg+xml',
        'x-content-type-options': 'nosniff',
        'content-security-policy': "sandbox; default-src 'none'",
        'cache-control': 'private, no-cache',
      },
    ]);
    const tag = { 'if-none-match': String(picture.headers.etag) };
    expect((await admin.get('/shop/hello-0/logo', tag)).status).toBe(304);
    expect((await admin.get('/shop/hello-0/files/logo.svg')).text).toBe(picture.text);
    for (const path of [
      '/shop/hello-0/files/hello.json',
      '/shop/hello-0/files/..%2ftwo-tier%2flogo.svg',
      '/shop/hello-1/logo',
      '/shop/hello-1',
      '/shop/%2e%2e-0',
      '/shop/%ff-0/logo',
    ]) {
      expect([path, (await admin.get(path)).status]).toEqual([path, 404]);
    }
    expect((await new HttpClient(() => host().url(), PAGE).get('/shop/hello-0/logo')).status).toBe(303);
  });

  test('W69, W78: only roles that may set resources can change them, within what the quota leaves', async () => {
    const accounts = new AccountClient(host);
    await accounts.addUser('plain', { role_id: ROLE.user });
    const plain = (await (await WebClient.logIn(host, 'plain', 'secret words')).get('/shop/elastic-batch-0'))
      .text;
    expect(plain).toMatch(/name="resources:worker\.memory"[^>]* value="16"[^>]* disabled/);
    expect(plain).not.toContain('resources:leader.memory');

    const caps = { name: 'small', concurrent_executions: 0, memory: 96 * 2 ** 20, cores: 1 };
    const quota_id = await accounts.create('quota', caps);
    await accounts.addUser('capped', { role_id: ROLE.superuser, quota_id });
    const capped = (
      await (await WebClient.logIn(host, 'capped', 'secret words')).get('/shop/elastic-batch-0')
    ).text;
    expect(capped).toContain('Left in your quota: 96.0 MiB of memory and 1 core.');
    expect(capped).toContain('8.0 MiB to 256.0 MiB. Left in your quota: 96.0 MiB per instance.');
    expect(capped).toMatch(/name="resources:leader\.memory"/);
    const sliders = [...capped.matchAll(/type="range"[^>]* min="([^"]*)" max="([^"]*)"/g)].map(
      ([, ...ends]) => ends,
    );
    expect(sliders).toContainEqual(['8388608', '100663296']);
    expect(sliders).toContainEqual(['0.1', '1']);
  });
});

test('W61, W62, W68, W71, W79: the shop of BERTH_SHOP is read at each request, filtered by role, and shown as harmless text', async () => {
  const shop = await ScratchShop.make();
  const node = await startHost({ kind: 'node', variant: 'B' }, { BERTH_SHOP: shop.root });
  const host = () => node;
  try {
    const admin = await WebClient.logIn(host);
    expect((await admin.get('/shop')).text).toContain('No applications available');
    const evil = '"><script>alert(1)</script>';
    const parameter = {
      kind: 'environment',
      name: `A ${evil}`,
      readable_name: evil,
      description: evil,
      type: 'string',
    };
    await shop.write({
      ...sparkFolder,
      'spark/manifest.json': {
        version: 1,
        zapps: sparkManifest.zapps.map((one) => ({ ...one, disabled_for: ['user'] })),
      },
      'evil/manifest.json': manifest(
        zapp({ name: evil, category: evil, parameters: [parameter] }),
        zapp({ name: evil, logo: 'x.exe' }),
      ),
      'evil/app.json': application(service({ environment: [[`A ${evil}`, evil]] })),
      'evil/README.md': evil,
    });
    const all = await admin.get('/shop');
    expect(all.text).toContain('Distributed PySpark notebook');
    expect(all.text).toContain('There is no file clouds.json.');
    const one = await admin.get('/shop/evil-0');
    for (const { text } of [all, one])
      expect(text.replace(/<script type="module" src="[^"]*"><\/script>/g, '')).not.toContain('<script');
    const field = /<input id="([^"]*)" name="\1"/.exec(one.text.replace(/.*name="name"/s, ''))?.[1] ?? '';
    expect(field).toMatch(/^environment:A%20/);
    const started = await admin.post('/shop/evil-0', {
      name: 'x',
      [shown(field)]: 'set',
    });
    expect(started.status).toBe(303);

    await shop.write({ 'evil/README.md': '# Other\n\n![a picture](b.png)' });
    expect((await admin.get('/shop/evil-0')).text).toContain('src="/shop/evil-0/files/b.png"');
    await shop.write({ 'evil/README.md': `${'*'.repeat(65_537)}<b>` });
    expect((await admin.get('/shop/evil-0')).text).toContain('***&lt;b&gt;</pre>');

    await new AccountClient(host).addUser('plain', { role_id: ROLE.user });
    const plain = await WebClient.logIn(host, 'plain', 'secret words');
    const { text } = await plain.get('/shop');
    expect(text).not.toContain('Distributed PySpark notebook');
    expect(text).not.toContain('clouds.json');
    expect((await plain.get('/shop/spark-0')).status).toBe(404);
    expect((await plain.post('/shop/spark-0', { name: 'x' })).status).toBe(404);
  } finally {
    await node.stop();
    await shop.remove();
  }
});
