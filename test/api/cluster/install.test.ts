import { execFile } from 'node:child_process';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { downloadBundle } from '../../../agent/update/download.ts';
import { Updater } from '../../../agent/update/updater.ts';
import { isLoopback } from '../../../control-plane/http/install.ts';
import { signRelease } from '../../../release/sign-agent.ts';
import { signedReleaseSchema } from '../../../shared/protocol/release.ts';
import { ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { answerOn, dial } from '../../support/clients/raw-http.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { hosts, onHosts, onHostsWith } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';
import { routesOf } from '../../support/tools/routes.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

const run = promisify(execFile);

const FILES = [
  ['install.sh', 'text/x-shellscript; charset=utf-8'],
  ['berth-agent.mjs', 'text/javascript; charset=utf-8'],
  ['berth-agent.mjs.sha256', 'text/plain; charset=utf-8'],
] as const;

test('H260: every variant serves the install files', () => {
  for (const variant of ['A', 'B', 'zoe-2018.12', 'zoe-2017.12'] as const)
    expect(routesOf(variant).map(({ path }) => path)).toEqual(
      expect.arrayContaining(FILES.map(([name]) => `/agent/${name}`)),
    );
});

onHosts(hosts, (host) => {
  const { http: admin } = new ApiClient(host);
  const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${host().url()}/agent/${name}`, { method, headers });
  const textOf = async (name: string) => (await get(name)).text();

  test.each(FILES)(
    'H260: %s is public, has its content type, and is revalidated and not sent again each time',
    async (name, type) => {
      const answer = await get(name);
      expect(answer.status).toBe(200);
      const { 'content-type': has, 'cache-control': cache, ...rest } = Object.fromEntries(answer.headers);
      expect([has, cache, rest['x-content-type-options']]).toEqual([type, 'no-cache', 'nosniff']);
      const tag = rest.etag ?? '';
      expect(tag).toMatch(/^"[0-9a-f]{64}"$/);
      const again = await get(name, { 'if-none-match': tag });
      expect([again.status, await again.text()]).toEqual([304, '']);
      const other = await get(name, { 'if-none-match': '"another"' });
      expect([other.status, (await other.text()) !== '']).toEqual([200, true]);
      const head = await get(name, {}, 'HEAD');
      expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, tag, '']);
    },
  );

  test('H260: no other file is served, and other methods are refused', async () => {
    for (const name of ['', 'package.json', 'main.ts', 'swagger-ui.css', 'berth-agent.mjs.key'])
      expect((await get(name)).status, name).toBe(404);
    const posted = await get('install.sh', {}, 'POST');
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  test('H261: the checksum is that of the bundle, in the format of sha256sum', async () => {
    const bundle = Buffer.from(await (await get('berth-agent.mjs')).arrayBuffer());
    const digest = createHash('sha256').update(bundle).digest('hex');
    expect(await textOf('berth-agent.mjs.sha256')).toBe(`${digest}  berth-agent.mjs\n`);
  });

  test('H261: the bundle is one file that runs alone, with its version and the licences of its contents', async () => {
    const folder = await testFolder();
    const bundle = await textOf('berth-agent.mjs');
    const { version, dependencies } = JSON.parse(await readFile('package.json', 'utf8'));
    expect(bundle.slice(0, bundle.indexOf('\n'))).toMatch(
      new RegExp(`^// Berth agent ${version} \\([0-9a-f]{16}\\)$`),
    );
    for (const name of ['dockerode', 'ws', 'zod']) {
      expect(bundle).toContain(`\n== ${name} ${dependencies[name]} `);
    }
    const path = join(folder, 'berth-agent.mjs');
    await writeFile(path, bundle);
    const refused = run(process.execPath, [path], { cwd: folder, env: { BERTH_URL: 'nonsense' } });
    await expect(refused).rejects.toThrow(/BERTH_URL must be a URL/);
  });

  test('H510, H511: without a signed agent there is no release, and no agent is asked to update itself', async () => {
    expect((await get('release.json')).status).toBe(404);
    const { status, text } = await admin.send('POST', 'host/1/update');
    expect([status, text]).toEqual([409, expect.stringContaining('has no signed agent')]);
    // Also for a Worker, whose files come with its deployment.
    expect(text).toContain('in the environment of npm run deploy');
  });

  test('H262: the install script has the URL of the control plane as the client addressed it', async () => {
    expect(await textOf('install.sh')).toContain(`\nserved_by='${host().url()}'\n`);
    const forwarded = await get('install.sh', { 'x-forwarded-proto': 'https' });
    expect(await forwarded.text()).toContain(`\nserved_by='${host().url().replace('http:', 'https:')}'\n`);
  });

  test('H262: the line with the URL stays empty for a Host header that a shell would read', async () => {
    for (const name of ["a'b", "x';reboot;'", 'a$(reboot)', 'a`reboot`', '"', 'a&b', 'a;b', '{a}']) {
      const request = `GET /agent/install.sh HTTP/1.1\r\nhost: ${name}\r\nconnection: close\r\n\r\n`;
      const { status, body } = await answerOn(dial(host().url(), request));
      // The host may refuse the header before the request reaches the app.
      if (status === 200) expect(body).toContain("\nserved_by=''\n");
      else expect(body).not.toContain('served_by');
    }
  });

  test('H262: apart from that line, the install script is the one in the sources', async () => {
    const served = await textOf('install.sh');
    expect(served.replace(/^served_by='.*'$/m, "served_by=''")).toBe(
      await readFile('agent/install/install.sh', 'utf8'),
    );
  });

  test('H269, H365: a join token comes with the command line that installs the agent, for the URL that the client addressed', async () => {
    const made = (await admin.post('host/token', {})).json<Record<string, string>>();
    const { token, install, agent_sha256: checksum } = made;
    expect(await textOf('berth-agent.mjs.sha256')).toBe(`${checksum}  berth-agent.mjs\n`);
    expect(install).toBe(
      `curl -fsSL ${host().url()}/agent/install.sh | BERTH_BUNDLE_SHA256=${checksum} BERTH_JOIN_TOKEN=${token} sh`,
    );
    const named = (await admin.post('host/token', { name: 'host-2.lab' })).json<Record<string, string>>();
    expect(named.install).toMatch(/ BERTH_JOIN_TOKEN=\S+ BERTH_AGENT_NAME=host-2\.lab sh$/);
    const forwarded = await admin.with({ 'x-forwarded-proto': 'https' }).post('host/token', {});
    expect(forwarded.json().install).toContain(
      `curl -fsSL ${host().url().replace('http:', 'https:')}/agent/`,
    );
    // This host is on loopback.
    expect(made.warning).toContain(`${host().url()}, an address that only this machine reaches`);
    expect(made.warning).toContain('BERTH_PUBLIC_URL');
  });
});

const { privateKey } = generateKeyPairSync('ed25519');
const LATER = '9.0.0';
const BUNDLE = '// The agent of a later release.';

/** A folder with an agent that is signed as a later version. */
async function signedAgent(): Promise<string> {
  const folder = await scratchFolder('berth-signed-');
  await writeFile(join(folder, 'berth-agent.mjs'), BUNDLE);
  const release = signRelease(Buffer.from(BUNDLE), LATER, privateKey);
  await writeFile(join(folder, 'release.json'), JSON.stringify(release));
  return folder;
}

onHostsWith({ BERTH_AGENT_RELEASE: await signedAgent() }, hosts, (host) => {
  const { http: admin } = new ApiClient(host);
  test('H663, H510, H511: a host is updated to the signed agent of the control plane, whose bundle and signature its agent accepts', async () => {
    const served = signedReleaseSchema.parse(
      await (await fetch(`${host().url()}/agent/release.json`)).json(),
    );
    expect(served).toEqual(signRelease(Buffer.from(BUNDLE), LATER, privateKey));
    const agent = await ScriptedAgent.join(host());
    const [id] = Object.keys((await admin.get('host')).json<object>());
    const answer = await admin.post(`host/${id}/update`, {});
    expect([answer.status, answer.json()]).toEqual([200, { version: LATER, requested: true }]);
    const update = await eventually(() => agent.all('update')[0]);
    await agent.close();

    const folder = await testFolder();
    const updater = new Updater({
      terms: {
        ...{ isAllowed: true, releaseKey: served.key, version: '0.1.0' },
        program: join(folder, 'berth-agent.mjs'),
      },
      download: () => downloadBundle(new URL(host().url()), new AbortController().signal),
      log: () => {},
    });
    const failures: unknown[] = [];
    updater.reportTo((failure) => failure !== undefined && failures.push(failure));
    if (update) updater.request(update);
    const candidate = await eventually(() => updater.candidate ?? failures.length > 0);
    expect([failures, candidate]).toEqual([[], expect.objectContaining({ release: update })]);
    if (candidate !== true) expect(await readFile(candidate.path, 'utf8')).toBe(BUNDLE);
  });
});

onHostsWith(
  { BERTH_PUBLIC_URL: 'https://berth.example.org:8443/' },
  [{ kind: 'node', variant: 'B' }],
  (host) => {
    const { http: admin } = new ApiClient(host);
    test('H600, W158: BERTH_PUBLIC_URL is the address in the command line, which then has no warning', async () => {
      const made = (await admin.post('host/token', {})).json<Record<string, string>>();
      expect(made.install).toMatch(/^curl -fsSL https:\/\/berth\.example\.org:8443\/agent\/install\.sh \|/);
      expect(made.warning).toBeUndefined();
      const { text } = await (await WebClient.logIn(host)).post('/cluster/join', { name: '', labels: '' });
      expect(text).toContain('curl -fsSL https://berth.example.org:8443/agent/install.sh');
      expect(text).not.toContain('notice warns');
    });
  },
);

test('H600: loopback, and the address of all, are addresses of this machine only', () => {
  const here = ['localhost:5001', 'a.localhost', '127.0.0.1:5001', '127.1', '[::1]:5001', '[::ffff:7f00:1]'];
  for (const name of [...here, '0.0.0.0:5001']) expect(isLoopback(`http://${name}`), name).toBe(true);
  const others = ['192.168.1.10:5001', '127.example.org', 'localhost.example.org', '[fd00::1]'];
  for (const origin of [...others.map((name) => `https://${name}`), ''])
    expect(isLoopback(origin)).toBe(false);
});
