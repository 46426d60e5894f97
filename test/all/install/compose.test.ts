/** The images of a release, and the deployment of release/deploy/compose.yaml, which Docker Compose runs. */
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { extract } from 'tar-stream';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { VERSION } from '../../../control-plane/version.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { ensureCompose } from '../../support/engines/compose.ts';
import { buildControlPlaneImage, controlPlaneContainer } from '../../support/engines/control-plane-image.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { type BuiltImage, finished, importNodeBase, importProgram } from '../../support/engines/node-base.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { freePort } from '../../support/hosts/port.ts';
import { DIST, thisRelease } from '../../support/releases/this-release.ts';
import { ensureProgram } from '../../support/tools/debian-program.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { suiteFolder } from '../../support/tools/test-folder.ts';

const run = promisify(execFile);
const NAME = `berth-compose-${process.pid}`;
const PASSWORD = 'words of an administrator';
const ROOT_CERTIFICATE = 'caddy/pki/authorities/local/root.crt';
const CADDY = `berth-caddy-test:${process.pid}`;
const [AGENT, AGENT_BASE] = [
  `berth-compose-agent-test:${process.pid}`,
  `berth-compose-base-test:${process.pid}`,
];

const docker = await testEngine();
const folder = suiteFolder();
let env: NodeJS.ProcessEnv;
let port: number;
let image: BuiltImage;

beforeAll(async () => {
  await thisRelease();
  for (const name of ['compose.yaml', 'Caddyfile']) await copyFile(join(DIST, name), join(folder, name));
  const platform = `${process.platform}-${process.arch}`;
  const context = join(DIST, `berth-control-plane-image-${VERSION}-${platform}.tar.gz`);
  image = await buildControlPlaneImage(docker, context);
  await importNodeBase(docker, AGENT_BASE, await scratchIn('agent'));
  const agent = createReadStream(join(DIST, `berth-agent-image-${VERSION}.tar.gz`));
  await finished(docker, await docker.buildImage(agent, { t: AGENT, buildargs: { BASE: AGENT_BASE } }));
  // As the image of Caddy has them.
  const command = 'CMD ["caddy","run","--config","/etc/caddy/Caddyfile","--adapter","caddyfile"]';
  const changes = ['ENV XDG_DATA_HOME=/data', 'ENV XDG_CONFIG_HOME=/config', command];
  const caddy = { path: await ensureProgram('caddy'), name: 'caddy', changes };
  await importProgram(docker, CADDY, await scratchIn('caddy'), caddy);
  port = await freePort();
  env = {
    PATH: process.env.PATH,
    ...(process.env.DOCKER_HOST && { DOCKER_HOST: process.env.DOCKER_HOST }),
    ...{ BERTH_IMAGE: image.name, BERTH_AGENT_IMAGE: AGENT, CADDY_IMAGE: CADDY },
    ...{ BERTH_HTTP_PORT: `${await freePort()}`, BERTH_HTTPS_PORT: `${port}`, BERTH_DOMAIN: 'localhost' },
    ...{ BERTH_DEPLOYMENT_NAME: `compose-${process.pid}`, BERTH_ADMIN_PASSWORD: PASSWORD },
  };
  // The name has a certificate that Caddy makes itself, and another port.
  const agentEnv = [`BERTH_URL=https://localhost:${port}`, `NODE_EXTRA_CA_CERTS=/caddy/${ROOT_CERTIFICATE}`];
  const services = { agent: { environment: agentEnv, volumes: ['caddy:/caddy:ro'] } };
  await writeFile(join(folder, 'test.json'), JSON.stringify({ services }));
}, 300_000);

afterAll(async () => {
  await compose('--profile', 'agent', 'down', '--volumes', '--timeout', '5');
  for (const name of [AGENT, AGENT_BASE, CADDY]) await docker.getImage(name).remove();
  await image.remove();
}, 120_000);

const scratchIn = async (name: string) => {
  const path = join(folder, name);
  await run('mkdir', [path]);
  return path;
};

async function compose(...words: string[]): Promise<string> {
  const [file = '', ...begin] = await ensureCompose();
  const files = ['-p', NAME, '-f', 'compose.yaml', '-f', 'test.json'];
  return (await run(file, [...begin, ...files, ...words], { cwd: folder, env })).stdout;
}

const container = async (service: string) => {
  const filters = { label: [`com.docker.compose.project=${NAME}`, `com.docker.compose.service=${service}`] };
  const [one] = await docker.listContainers({ all: true, filters });
  if (!one) throw new Error(`${service} has no container`);
  return docker.getContainer(one.Id);
};

/** A file of a container. */
async function fileOf(service: string, path: string): Promise<string> {
  const tar = extract();
  const content = new Promise<string>((done, fail) => {
    tar.on('entry', (_, stream) => void text(stream).then(done, fail)).on('error', fail);
  });
  (await (await container(service)).getArchive({ path })).pipe(tar);
  return content;
}

/** The answer through Caddy, with the certificate checked. */
async function ask(path: string, body?: unknown): Promise<Record<string, unknown>> {
  const ca = await fileOf('caddy', `/data/${ROOT_CERTIFICATE}`);
  const method = body === undefined ? 'GET' : 'POST';
  const options = { ca, method, auth: `admin:${PASSWORD}` };
  const answer = await new Promise<string>((done, fail) => {
    const outgoing = request(`https://localhost:${port}${path}`, options, (incoming) => {
      text(incoming).then(done, fail);
    });
    outgoing.on('error', fail).end(body === undefined ? undefined : JSON.stringify(body));
  });
  return JSON.parse(answer);
}

test('H505, H506: the image of the control plane is built without a network, runs without privileges and on a read-only root, and its data outlives the container', async () => {
  const { Config } = await docker.getImage(image.name).inspect();
  expect(Config).toMatchObject({ User: '10001:10001', Volumes: { '/data': {} } });
  const volume = `berth-control-plane-test-${process.pid}`;
  onTestFinished(() => docker.getVolume(volume).remove());

  const ownPort = `${await freePort()}`;
  const url = `http://127.0.0.1:${ownPort}`;
  const admin = new ApiClient(url, 'admin', PASSWORD);
  const untilHealthy = async (settings: Record<string, string>) => {
    const container = await controlPlaneContainer(docker, image, volume, {
      BERTH_PORT: ownPort,
      ...settings,
    });
    onTestFinished(() => container.remove({ force: true }).catch(() => {}));
    await container.start();
    await eventually(async () => {
      const { Health, Running } = (await container.inspect()).State;
      if (!Running) expect(`${await container.logs({ stdout: true, stderr: true })}`).toBe('');
      return Health?.Status === 'healthy';
    }, 60_000);
    return container;
  };
  const first = await untilHealthy({ BERTH_ADMIN_PASSWORD: PASSWORD });
  const { Titles, Processes } = await first.top();
  expect(Processes.map((process: string[]) => process[Titles.indexOf('UID')])).toEqual(['10001']);
  // Both are built at the first request, into the only folder that can be written to.
  for (const file of ['/assets/berth.css', '/agent/berth-agent.mjs'])
    expect((await fetch(url + file)).status, file).toBe(200);
  const quota = { name: 'kept', concurrent_executions: 3, memory: 2 ** 30, cores: 1 };
  const made = await admin.http.post('quota', quota);
  expect(made.status, made.text).toBe(200);
  const backup = ['node', '/opt/berth/control-plane/backup.js', '/data/backup.db'];
  const exec = await first.exec({ Cmd: backup, AttachStdout: true, AttachStderr: true });
  expect(await text(await exec.start({}))).toContain('Backed up /data/berth.db to /data/backup.db');
  await first.stop();
  expect((await first.inspect()).State.ExitCode).toBe(0);
  await first.remove();

  await untilHealthy({});
  expect((await admin.http.get('quota')).text).toContain('"kept"');
}, 240_000);

test('L95, L96, L97: Compose runs Berth behind TLS, an agent joins through it, and a service runs to its end', async () => {
  await compose('up', '-d');
  await eventually(() => ask('/api/0.7/info'), 60_000);
  expect(await ask('/api/0.7/login')).toMatchObject({ user: { username: 'admin' } });
  const { token, install } = await ask('/api/0.7/host/token', {});
  // The control plane has the name and the scheme from Caddy.
  expect(install).toContain(`https://localhost:${port}/agent/install.sh`);
  env = { ...env, BERTH_JOIN_TOKEN: String(token) };
  await compose('--profile', 'agent', 'up', '-d', 'agent');
  const host = async () => {
    const [one] = Object.values(await ask('/api/0.7/host')) as { state: string }[];
    return one?.state === 'ready';
  };
  await eventually(host, 60_000);
  const submission = { name: 'hello', application: application(script('echo hello')) };
  const { execution_id } = await ask('/api/0.7/execution', submission);
  const ended = async () => (await ask(`/api/0.7/execution/${execution_id}`)).status === 'terminated';
  await eventually(ended, 60_000);

  for (const service of ['caddy', 'control-plane']) {
    const { HostConfig, NetworkSettings } = await (await container(service)).inspect();
    expect(HostConfig).toMatchObject({ ReadonlyRootfs: true, CapDrop: ['ALL'] });
    expect(HostConfig.SecurityOpt).toEqual(['no-new-privileges:true']);
    expect(HostConfig.CapAdd ?? []).toHaveLength(service === 'caddy' ? 1 : 0);
    const published = Object.values(NetworkSettings.Ports).filter((ports) => ports?.length);
    expect(published).toHaveLength(service === 'caddy' ? 2 : 0);
  }
}, 300_000);

test('L96: Caddy finds no fault in the Caddyfile, and streams pass at once', async () => {
  const options = { env: { ...process.env, BERTH_DOMAIN: 'berth.example.org', HOME: folder } };
  const words = ['--config', join(folder, 'Caddyfile'), '--adapter', 'caddyfile'];
  const caddy = await ensureProgram('caddy');
  expect((await run(caddy, ['validate', ...words], options)).stdout).toContain('Valid configuration');
  const { stdout } = await run(caddy, ['adapt', ...words], options);
  expect(stdout).toContain('"host":["berth.example.org"]');
  expect(stdout).toContain('"flush_interval":-1');
  expect(await readFile(join(folder, 'Caddyfile'), 'utf8')).not.toContain('encode');
});

test('L96: without BERTH_DOMAIN nothing starts, and the error says what to set', async () => {
  const [file = '', ...begin] = await ensureCompose();
  const { BERTH_DOMAIN: _, ...without } = env;
  const tried = run(file, [...begin, '-f', 'compose.yaml', 'config'], { cwd: folder, env: without });
  await expect(tried).rejects.toThrow(/BERTH_DOMAIN.*set it to the host name of the control plane/s);
});
