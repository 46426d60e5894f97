/** The agent as hosts install it: by the script that a control plane serves, and as an image. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { agentContainer, buildAgentImage } from '../../support/engines/agent-image.ts';
import { commandIn, Installation, startProxy, type Tampering } from '../../support/engines/installation.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { type Program, startCommand } from '../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../support/rigs/berth.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const run = promisify(execFile);
const NAME = 'installed';
const INSTALLED = [
  '/etc/berth/agent.env',
  '/etc/systemd/system/berth-agent.service',
  '/opt/berth/berth-agent.mjs',
  '/opt/berth/install.sh',
  '/var/lib/berth/e2e-install/identity/key.json',
];

let berth: Berth;
let machine: Installation;
const agents: Program[] = [];

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-install', env: { BERTH_LOCAL_AGENT: 'off' } });
});
beforeEach(async () => {
  machine = await Installation.prepare(berth.url, { BERTH_AGENT_NAME: `${NAME}${hosts++}` });
});
afterEach(() => machine.remove());
afterAll(() => berth.close(...agents));
let hosts = 0;

const joinToken = () => berth.api.joinToken();

/** Installs, which must succeed; resolves to what the script said. */
async function install(env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { code, output } = await machine.run([], env);
  expect([code, output]).toEqual([0, output]);
  return output;
}

async function runsSomething(): Promise<void> {
  const id = await berth.api.submit(application(script('echo hello from the installed agent')));
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.api.logText(id)).toBe('hello from the installed agent\n');
}

async function endAgent(agent: Program): Promise<void> {
  agents.splice(agents.indexOf(agent), 1);
  expect(await agent.stop()).toBe(0);
}

function startInstalled(output: string): Program {
  const agent = startCommand(commandIn(output), { cwd: '/', env: { BERTH_URL: undefined } });
  agents.push(agent);
  return agent;
}

test('H263: the script installs an agent that joins and runs what it is given; once more, it is brought up to date', async () => {
  const output = await install({ BERTH_JOIN_TOKEN: await joinToken(), BERTH_AGENT_LABELS: 'gpu,ssd' });
  expect(output).toMatch(/ ok +Docker \d+.*\n/);
  expect(output).toMatch(/This machine is now host \d+ \(installed\d+\) of deployment e2e-install\./);
  expect(await machine.files()).toEqual(INSTALLED);
  const first = startInstalled(output);
  await runsSomething();
  await endAgent(first);

  const [key, settings] = await Promise.all([
    machine.read(INSTALLED[4] ?? ''),
    machine.read(INSTALLED[0] ?? ''),
  ]);
  const served = await (await fetch(`${berth.url}/agent/berth-agent.mjs`)).text();
  await writeFile(join(machine.root, 'opt/berth/berth-agent.mjs'), 'throw new Error("an old one");');
  const again = await install();
  expect(again).toContain('This machine was already host');
  expect(commandIn(again)).toEqual(commandIn(output));
  expect(await machine.read('/opt/berth/berth-agent.mjs')).toBe(served);
  expect(await machine.read(INSTALLED[4] ?? '')).toBe(key);
  expect((await machine.read(INSTALLED[0] ?? '')).split('\n').sort()).toEqual(settings.split('\n').sort());
  const second = startInstalled(again);
  await runsSomething();
  await endAgent(second);
});

test('H263: what is set when it is run again counts, the rest stays', async () => {
  await install({
    BERTH_JOIN_TOKEN: await joinToken(),
    BERTH_AGENT_LABELS: 'gpu',
    BERTH_AGENT_LOG_DAYS: '3',
    BERTH_AGENT_DATA_DIR: join(machine.root, 'srv'),
  });
  // As a person may have left it: without quotes, with a name twice, and without an end of the last line.
  const written = await machine.read('/etc/berth/agent.env');
  const edited = `${written.replace(/^(BERTH_AGENT_DATA_DIR)='(.*)'$/m, '$1=$2')}\n# ours\nBERTH_AGENT_MIN_DISK=2GiB\nBERTH_AGENT_MIN_DISK=0`;
  await writeFile(join(machine.root, 'etc/berth/agent.env'), edited);
  const again = await install({ BERTH_AGENT_LABELS: 'ssd, with a space "and" $more' });
  expect(again).toContain('This machine was already host');
  const settings = await machine.read('/etc/berth/agent.env');
  expect(settings).toMatch(/\n# ours\n(.*\n)*BERTH_AGENT_MIN_DISK=0\n$/);
  expect(settings).toContain(`\nBERTH_URL='${berth.url}'\n`);
  expect(settings).toContain("\nBERTH_DEPLOYMENT_NAME='e2e-install'\n");
  expect(settings).toContain('BERTH_AGENT_LABELS=\'ssd, with a space "and" $more\'\n');
  expect(settings).toContain("BERTH_AGENT_LOG_DAYS='3'\n");
  expect(settings.match(/LABELS/g)).toHaveLength(1);
});

describe('H264: where it fails it says why and what to do, and leaves everything as it was:', () => {
  /** Runs the script, which must fail and leave nothing; resolves to what it said. */
  async function failure(env: NodeJS.ProcessEnv): Promise<string> {
    const { code, output } = await machine.run([], env);
    expect([code, output]).toEqual([1, output]);
    expect(await machine.files(), output).toEqual([]);
    return output;
  }

  const behindProxy = (tampering: Tampering) => startProxy(berth.url, tampering);

  test('H264: no token', async () => {
    const output = await failure({});
    expect(output).toMatch(/BERTH_JOIN_TOKEN is not set(.|\n)*POST \/api\/0\.7\/host\/token/);
  });

  test('H264: a token that is used up', async () => {
    const token = await joinToken();
    const other = await Installation.prepare(berth.url, { BERTH_AGENT_NAME: 'another' });
    onTestFinished(() => other.remove());
    expect((await other.run([], { BERTH_JOIN_TOKEN: token })).code).toBe(0);
    const output = await failure({ BERTH_JOIN_TOKEN: token });
    expect(output).toMatch(/did not let this host join(.|\n)*a new token/);
  });

  test('H264: no engine', async () => {
    const output = await failure({
      BERTH_JOIN_TOKEN: await joinToken(),
      DOCKER_HOST: 'unix:///nowhere/docker.sock',
    });
    expect(output).toMatch(/problem +No Docker engine answers at unix:\/\/\/nowhere(.|\n)*Install Docker/);
  });

  test('H264: a control plane that is out of reach, or is none', async () => {
    const output = await failure({ BERTH_JOIN_TOKEN: 'unused', BERTH_URL: 'http://127.0.0.1:1/' });
    expect(output).toMatch(/http:\/\/127\.0\.0\.1:1 cannot be reached(.|\n)*Check BERTH_URL/);
    const none = await behindProxy({
      body: (body, path) => (path.endsWith('info') ? Buffer.from('{}') : body),
    });
    const said = await failure({ BERTH_JOIN_TOKEN: 'unused', BERTH_URL: none });
    expect(said).toMatch(/does not answer like a control plane/);
  });

  test('H264: an agent that is not what its checksum says', async () => {
    const url = await behindProxy({
      body: (body, path) => (path.endsWith('.mjs') ? Buffer.concat([body, Buffer.from(';')]) : body),
    });
    const output = await failure({ BERTH_JOIN_TOKEN: await joinToken(), BERTH_URL: url });
    expect(output).toMatch(/does not match its checksum(.|\n)*Try again/);
  });

  test('H264: an answer to the join that got lost: the key stays, and joins with the same token', async () => {
    const lossy = await behindProxy({
      body: (body, path) => (path.endsWith('register') ? Buffer.from('') : body),
    });
    const token = await joinToken();
    const { code, output } = await machine.run([], { BERTH_JOIN_TOKEN: token, BERTH_URL: lossy });
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/key of this machine stays(.|\n)*same token/),
    ]);
    expect(await machine.files()).toEqual(INSTALLED.slice(4));
    expect(await install({ BERTH_JOIN_TOKEN: token })).toContain('This machine is now host');
  });

  test('H264: a clock that is far off, unless that is allowed', async () => {
    const date = new Date(Date.now() - 60_000).toUTCString();
    const env = { BERTH_JOIN_TOKEN: await joinToken(), BERTH_URL: await behindProxy({ headers: { date } }) };
    expect(await failure(env)).toMatch(/problem +The clock is (59|6\d) s ahead of the control plane's/);
    expect(await install({ ...env, BERTH_ANY_CLOCK: '1' })).toMatch(/warning +The clock is .* ahead of/);
  });

  test('H264: no Node', async () => {
    const folder = await scratchFolder('berth-path-');
    onTestFinished(() => rm(folder, { recursive: true }));
    for (const tool of ['uname', 'id'])
      await symlink((await run('which', [tool])).stdout.trim(), join(folder, tool));
    expect(await failure({ PATH: folder })).toMatch(/Node is not installed(.|\n)*nodejs\.org/);
  });

  test.each([
    ['that can not be kept', 'BERTH_AGENT_LABELS', "it's", /BERTH_AGENT_LABELS has a single quote/],
    ['that means another folder to systemd', 'BERTH_AGENT_DATA_DIR', 'data', /DATA_DIR=data does not begin/],
  ])('H264: a setting %s', async (_, name, value, words) => {
    expect(await failure({ BERTH_JOIN_TOKEN: 'unused', [name]: value })).toMatch(words);
  });

  test('H264: an installation that is there goes on unchanged', async () => {
    await install({ BERTH_JOIN_TOKEN: await joinToken() });
    const before = await Promise.all(INSTALLED.map((path) => machine.read(path)));
    const { code } = await machine.run([], { DOCKER_HOST: 'unix:///nowhere/docker.sock' });
    expect(code).toBe(1);
    expect(await machine.files()).toEqual(INSTALLED);
    expect(await Promise.all(INSTALLED.map((path) => machine.read(path)))).toEqual(before);
  });
});

test('H265: the join token is in no file and in no argument of a program, and the settings and the key are for their owner alone', async () => {
  const token = await joinToken();
  // The shell traces what it does: with a token are only words of its own.
  const { code, output } = await machine.run([], { BERTH_JOIN_TOKEN: token }, ['-x']);
  expect([code, output]).toEqual([0, output]);
  const traced = output.split('\n').filter((line) => line.includes(token));
  expect(traced.length).toBeGreaterThan(0);
  for (const line of traced) expect(line).toMatch(/^\++ (token=|\[ -z |export BERTH_JOIN_TOKEN=)/);
  for (const path of await machine.files()) expect(await machine.read(path)).not.toContain(token);
  for (const path of ['/etc/berth/agent.env', INSTALLED[4] ?? ''])
    expect((await stat(join(machine.root, path))).mode & 0o777, path).toBe(0o600);
  expect((await stat(join(machine.root, 'var/lib/berth'))).mode & 0o777).toBe(0o700);
});

test('H265: a data folder that was there before stays as open as it was', async () => {
  const folder = join(machine.root, 'srv');
  await mkdir(folder, { mode: 0o755 });
  await install({ BERTH_JOIN_TOKEN: await joinToken(), BERTH_AGENT_DATA_DIR: folder });
  expect((await stat(folder)).mode & 0o777).toBe(0o755);
  expect((await stat(join(folder, 'e2e-install'))).mode & 0o777).toBe(0o700);
});

test('H266: the unit of systemd runs what is told to be run without it, and systemd finds nothing wrong with it', async () => {
  const output = await install({ BERTH_JOIN_TOKEN: await joinToken() });
  const unit = await machine.read('/etc/systemd/system/berth-agent.service');
  expect(unit).toContain(`\nExecStart=${commandIn(output).join(' ')}\n`);
  for (const line of [
    'Restart=always',
    'RestartPreventExitStatus=2',
    'NoNewPrivileges=yes',
    'ProtectSystem=full',
    'WantedBy=multi-user.target',
  ])
    expect(unit).toContain(`\n${line}\n`);
  // Where there is systemd; it is silent where all is well.
  const path = join(machine.root, 'etc/systemd/system/berth-agent.service');
  const verdict = await run('systemd-analyze', ['verify', '--man=no', path]).catch((error) => error);
  if (verdict.code !== 'ENOENT') expect(`${verdict.stdout}${verdict.stderr}`).not.toContain('berth-agent');
});

describe('uninstall', () => {
  test('H267: it leaves the key, with which the host comes back without a token', async () => {
    await install({ BERTH_JOIN_TOKEN: await joinToken() });
    // The name that counts is the one in the key.
    const settings = await machine.read(INSTALLED[0] ?? '');
    await writeFile(join(machine.root, INSTALLED[0] ?? ''), settings.replace(/^BERTH_AGENT_NAME=.*\n/m, ''));
    const { code, output } = await machine.run(['uninstall']);
    expect([code, output]).toEqual([0, output]);
    expect(await machine.files()).toEqual(INSTALLED.slice(4));
    expect(output).toContain(`deleted at ${berth.url}: DELETE /api/0.7/host/`);
    expect(output).toMatch(/label=berth\.deployment=e2e-install --filter label=berth\.host=installed\d+/);
    expect(await install()).toContain('This machine was already host');
  });

  test('H267: with --purge nothing is left of the agent, and nothing of others is gone', async () => {
    await install({ BERTH_JOIN_TOKEN: await joinToken() });
    await mkdir(join(machine.root, 'opt/another'));
    await writeFile(join(machine.root, 'var/lib/berth/by hand'), '');
    expect((await machine.run(['uninstall', '--purge'])).code).toBe(0);
    expect(await machine.files()).toEqual(['/opt/another', '/var/lib/berth/by hand']);
  });

  test('H267: after it the tree is empty, and once more it says so', async () => {
    await install({ BERTH_JOIN_TOKEN: await joinToken() });
    expect((await machine.run(['uninstall', '--purge'])).code).toBe(0);
    expect(await machine.files()).toEqual([]);
    expect(await machine.run(['uninstall'])).toEqual({ code: 0, output: 'No agent is installed here.\n' });
  });

  test('H267: the copy beside the agent does it, too, without the control plane', async () => {
    await install({ BERTH_JOIN_TOKEN: await joinToken() });
    const copy = join(machine.root, 'opt/berth/install.sh');
    expect(await readFile(copy, 'utf8')).toContain(`served_by='${berth.url}'`);
    await run('sh', [copy, 'uninstall', '--purge'], { env: { ...process.env, BERTH_ROOT: machine.root } });
    expect(await machine.files()).toEqual([]);
  });

  test('H267: words it does not know change nothing', async () => {
    for (const words of [['unistall'], ['uninstall', '--all']]) {
      const { code, output } = await machine.run(words);
      expect([code, output]).toEqual([1, expect.stringContaining(`'${words.at(-1)}'`)]);
    }
  });
});

test('H268: the image that agent/install/Dockerfile makes of the bundle joins and runs what it is given', async () => {
  const image = await buildAgentImage(berth.docker, berth.url);
  onTestFinished(image.remove);
  const container = await agentContainer(berth.docker, image, {
    BERTH_URL: berth.url,
    BERTH_JOIN_TOKEN: await joinToken(),
    BERTH_DEPLOYMENT_NAME: berth.deployment,
    BERTH_AGENT_NAME: 'contained',
  });
  onTestFinished(() => container.remove({ force: true, v: true }));
  await container.start();
  await runsSomething();
  await container.stop();
  expect((await container.inspect()).State.ExitCode).toBe(0);
});
