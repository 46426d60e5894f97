import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { SECRETS_PATH, secretsAudience } from '../../../shared/protocol/secrets.ts';
import { proofFor, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { CommandLine } from '../../support/clients/command-line.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, hostsOf, onHosts } from '../../support/hosts/hosts.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const NATIVE = '/native/api/0.7/';
const PATHS = 'https://paths.example.net';
const port = (name: string, port_number: number, more: object = {}) => ({
  ...{ name, port_number, protocol: 'tcp' as const, url_template: 'http://{ip_port}/' },
  ...more,
});
const PROXIED = { proxy: true, url_template: 'http://{ip_port}{proxy_path}' };

interface Seen {
  endpoints: [string, string][];
  applications: object[];
  shared: boolean;
  proxy_address: string | null;
}

onHosts(
  hostsOf('zoe-2018.12'),
  (host, { kind }) => {
    const admin = new HttpClient(() => host().url(), basic('admin', ADMIN_PASSWORD));
    let agent: ScriptedAgent;
    beforeAll(async () => {
      agent = await ScriptedAgent.join(host());
    });
    afterAll(() => agent.close());

    const submit = async (described: object, more: object = {}, root = NATIVE): Promise<number> => {
      const reply = await admin.post(`${root}execution`, { name: 'x', application: described, ...more });
      expect([200, 201], reply.text).toContain(reply.status);
      return reply.json<{ execution_id: number }>().execution_id;
    };
    const serviceOf = async (id: number, root = NATIVE) =>
      (await admin.get(`${root}service/${id}`)).json<Seen & Record<string, unknown>>();
    const endpointsOf = async (id: number, root = NATIVE) =>
      (await admin.get(`${root}execution/endpoints/${id}`)).json<unknown>();

    test('H503, H741, H742: a web application has a host name before it runs, beside what the host publishes, or alone', async () => {
      const ports = [port('Page', 80), port('Hidden', 81, { publish: false }), port('Names', 53)];
      ports[2] = { ...port('Names', 53), url_template: 'dns://{ip_port}' };
      const id = await submit(application(service({ ports })));
      const one = await agent.only(id);
      expect(one.ports).toEqual([
        { port: 80, protocol: 'tcp' },
        { port: 81, protocol: 'tcp', publish: false },
        { port: 53, protocol: 'tcp' },
      ]);
      const [page, hidden] = [80, 81].map((number) => `https://${number}-${one.service}.apps.example.org/`);
      const applications = [
        { name: 'Page', port_number: 80, url: page },
        { name: 'Hidden', port_number: 81, url: hidden },
      ];
      expect(await serviceOf(one.service)).toMatchObject({ endpoints: [], applications, shared: false });
      await agent.report(seen.running(one));
      const endpoints = [
        ['Page', page],
        ['Page', 'http://192.0.2.7:30080/'],
        ['Hidden', hidden],
        ['Names', 'dns://192.0.2.7:30053'],
      ];
      expect(await serviceOf(one.service)).toMatchObject({ endpoints, applications });
      expect(await endpointsOf(id)).toEqual(endpoints);
      expect(await endpointsOf(id, '')).toEqual({
        endpoints: [
          ['Page', 'http://192.0.2.7:30080/', page],
          ['Hidden', hidden, hidden],
          ['Names', 'dns://192.0.2.7:30053', null],
        ],
      });
      const contract = await serviceOf(one.service, '');
      for (const field of ['endpoints', 'applications', 'shared']) expect(contract).not.toHaveProperty(field);
      await agent.report(seen.exited(one, 0), seen.gone(one));
    });

    test('H745, H746: a port with proxy has a path, which its container gets and the services of Zoe show', async () => {
      const id = await submit(
        application(service({ ports: [port('Lab', 88, PROXIED), port('Board', 60)] })),
        {},
        '',
      );
      const one = await agent.only(id);
      const paths = one.environment.filter(([name]) => name.startsWith('REVERSE_PROXY_PATH_'));
      expect(paths).toEqual([
        ['REVERSE_PROXY_PATH_88', expect.stringMatching(new RegExp(`^/88-${one.service}-[\\w-]{22}$`))],
      ]);
      const [[, path] = ['', '']] = paths;
      expect(await serviceOf(one.service, '')).toMatchObject({ proxy_address: `paths.example.net${path}/` });
      await agent.report(seen.running(one));
      expect(await endpointsOf(id, '')).toEqual({
        endpoints: [
          ['Lab', `http://192.0.2.7:30088${path}`, `${PATHS}${path}/`],
          ['Board', 'http://192.0.2.7:30060/', `https://60-${one.service}.apps.example.org/`],
        ],
      });
      expect(await endpointsOf(id)).toContainEqual(['Lab', `${PATHS}${path}/`]);
      await agent.report(seen.exited(one, 0), seen.gone(one));
    });

    test('H745: a container with secrets, whose environment its host fetches, has the path too', async () => {
      await admin.post(`${NATIVE}secret`, { name: 'word', value: 'hidden' });
      const environment: [string, string][] = [['WORD', '{secret#word}']];
      const id = await submit(application(service({ environment, ports: [port('Lab', 88, PROXIED)] })));
      const one = await agent.only(id);
      expect(one.environment).toEqual([]);
      const authorization = await proofFor(host(), 'host1', { aud: secretsAudience(host().deployment) });
      const { service: of, generation } = one;
      const fetched = await new HttpClient(() => host().url(), { authorization }).get(
        `${SECRETS_PATH}?service=${of}&generation=${generation}`,
      );
      const variables = new Map(fetched.json<{ environment: [string, string][] }>().environment);
      expect(variables.get('WORD')).toBe('hidden');
      const address = (await serviceOf(of, '')).proxy_address;
      expect(address).toBe(`paths.example.net${variables.get('REVERSE_PROXY_PATH_88')}/`);
      await agent.report(seen.running(one), seen.exited(one, 0), seen.gone(one));
    });

    test('H740, W220: a submission shares its web applications with all users, in the description or beside it', async () => {
      const described = application(service({ ports: [port('Page', 80)] }));
      const plain = await submit(described);
      expect(await serviceOf((await agent.only(plain)).service)).toMatchObject({ shared: false });
      const web = await WebClient.logIn(host, 'admin', ADMIN_PASSWORD);
      const SHARED = 'Everybody who is logged in may use the web applications.';
      expect((await web.get(`/executions/${plain}`)).text).not.toContain(SHARED);
      for (const id of [
        await submit({ ...described, share: 'users' }),
        await submit(described, { share: 'users' }),
      ]) {
        const one = await agent.only(id);
        expect(await serviceOf(one.service)).toMatchObject({ shared: true });
        const { description } = (await admin.get(`${NATIVE}execution/${id}`)).json<{
          description: object;
        }>();
        expect(description).toMatchObject({ share: 'users' });
        const { text } = await web.get(`/executions/${id}`);
        expect(text).toContain(SHARED);
        const url = `https://80-${one.service}.apps.example.org/`;
        expect(text).toContain(`href="${url}" target="_blank" rel="noopener noreferrer">${url}</a>`);
      }
      for (const body of [
        { application: { ...described, share: 'all' } },
        { application: described, share: 'all' },
      ]) {
        const reply = await admin.post(`${NATIVE}execution`, { name: 'x', ...body });
        expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('share')]);
      }
    });

    if (kind === 'node')
      test('L175, L176: berth submits what is shared, lists both addresses, and opens the one through Berth', async () => {
        const home = await scratchFolder('berth-home-');
        onTestFinished(() => rm(home, { recursive: true, force: true }));
        const berth = new CommandLine(home);
        await berth.logIn(host().url(), ADMIN_PASSWORD);
        const file = join(home, 'app.json');
        const run = async (...ports: object[]) => {
          const described = application(service({ name: 'web', ports: ports as ReturnType<typeof port>[] }));
          await writeFile(file, JSON.stringify(described));
          return (await berth.run(['run', file, '--share', 'users'])).out.trim();
        };
        const id = await run(
          port('Page', 80),
          port('Other', 81),
          port('Files', 82, { url_template: 'ftp://{ip_port}' }),
        );
        const one = await agent.only(Number(id));
        await agent.report(seen.running(one));
        const outOf = async (...words: string[]) => (await berth.run(words)).out;
        expect(await outOf('get', id)).toContain('Shared      everybody may use its web applications');
        const [page, other] = [80, 81].map((number) => `https://${number}-${one.service}.apps.example.org/`);
        expect(await outOf('open', `${id}/web:81`)).toBe(`${other}\n`);
        expect(await outOf('open', `${id}/web0:80`)).toBe(`${page}\n`);
        expect(await outOf('open', `${id}/web`, 'Files')).toBe('ftp://192.0.2.7:30082\n');
        expect((await outOf('endpoints', id, '-q')).split('\n').slice(0, 2)).toEqual([
          page,
          'http://192.0.2.7:30080/',
        ]);
        expect((await berth.run(['open', `${id}/other:81`])).err).toContain(
          'has no service other; it has web0',
        );
        expect((await berth.run(['open', `${id}/web:83`])).err).toContain('has no endpoint 83');
        const hidden = await run(port('Names', 53, { url_template: 'dns://{ip_port}', publish: false }));
        const two = await agent.only(Number(hidden));
        await agent.report(seen.running(two));
        expect((await berth.run(['open', hidden])).err).toContain(`berth forward ${hidden} PORT`);
        expect((await berth.run(['run', file, '--share', 'all'])).err).toContain('users');
        await agent.report(...[one, two].flatMap((of) => [seen.exited(of, 0), seen.gone(of)]));
      });
  },
  {
    ...{ BERTH_APPS_URL: 'https://*.apps.example.org', BERTH_APPS_PATHS: PATHS },
    BERTH_PUBLIC_URL: 'https://berth.example.org',
    BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  },
);
