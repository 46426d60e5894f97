/** The agent as hosts install it: by the script that a control plane serves. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { commandIn, Installation, startProxy, type Tampering } from '../../support/engines/installation.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { type Program, startCommand } from '../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../support/rigs/berth.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

const run = promisify(execFile);
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
let hosts = 0;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-install', env: { BERTH_LOCAL_AGENT: 'off' } });
});
afterAll(() => berth.close(...agents));

const newMachine = () => Installation.prepare(berth.url, { BERTH_AGENT_NAME: `installed${hosts++}` });
const joinToken = () => berth.api.joinToken();

/** Runs an installation that must succeed; resolves to the script's output. */
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

describe('one machine, from the installation to the removal', () => {
  let token: string;
  let output: string;
  beforeAll(async () => {
    machine = await newMachine();
    token = await joinToken();
  });
  afterAll(() => machine.remove());

  const settingsFile = () => machine.read(INSTALLED[0] ?? '');
  const key = () => machine.read(INSTALLED[4] ?? '');

  test('H265: the join token is in no file and in no argument of a program, and only the owner can read the settings and the key', async () => {
    // The shell traces its commands: only its builtins may contain the token.
    const ended = await machine.run([], { BERTH_JOIN_TOKEN: token, BERTH_AGENT_LABELS: 'gpu,ssd' }, ['-x']);
    ({ output } = ended);
    expect([ended.code, output]).toEqual([0, output]);
    const traced = output.split('\n').filter((line) => line.includes(token));
    expect(traced.length).toBeGreaterThan(0);
    for (const line of traced) expect(line).toMatch(/^\++ (token=|\[ -z |export BERTH_JOIN_TOKEN=)/);
    for (const path of await machine.files()) expect(await machine.read(path)).not.toContain(token);
    for (const path of [INSTALLED[0], INSTALLED[4]])
      expect((await stat(join(machine.root, path ?? ''))).mode & 0o777, path).toBe(0o600);
    expect((await stat(join(machine.root, 'var/lib/berth'))).mode & 0o777).toBe(0o700);
  });

  test('H263: the script installs an agent that joins and runs services', async () => {
    expect(output).toMatch(/ ok +Docker \d+.*\n/);
    expect(output).toMatch(/This machine is now host \d+ \(installed\d+\) of deployment e2e-install\./);
    expect(await machine.files()).toEqual(INSTALLED);
    const agent = startInstalled(output);
    await runsSomething();
    await endAgent(agent);
  });

  test('H266, H604: the systemd unit runs the command that the script prints, and a folder to install beneath is named as why systemd was left alone', async () => {
    expect(output).toContain(
      `beneath ${machine.root}, and nothing was started, because BERTH_ROOT leaves systemd alone`,
    );
    expect(output).not.toContain('systemd does not run on this machine');
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
    // Only if systemd is installed. It prints nothing if the unit is valid.
    const path = join(machine.root, 'etc/systemd/system/berth-agent.service');
    const verdict = await run('systemd-analyze', ['verify', '--man=no', path]).catch((error) => error);
    if (verdict.code !== 'ENOENT') expect(`${verdict.stdout}${verdict.stderr}`).not.toContain('berth-agent');
  });

  test('H264: an installation with a used token fails', async () => {
    const other = await newMachine();
    onTestFinished(() => other.remove());
    const { code, output: reason } = await other.run([], { BERTH_JOIN_TOKEN: token });
    expect([code, await other.files()]).toEqual([1, []]);
    expect(reason).toMatch(/did not let this host join(.|\n)*a new token/);
  });

  test('H264: a failed update leaves the existing installation unchanged', async () => {
    const all = async () => [
      await machine.files(),
      await Promise.all(INSTALLED.map((path) => machine.read(path))),
    ];
    const before = await all();
    expect((await machine.run([], { DOCKER_HOST: 'unix:///nowhere/docker.sock' })).code).toBe(1);
    expect(await all()).toEqual(before);
  });

  test('H263: a second run updates the agent, which keeps its key and settings', async () => {
    const [keyBefore, settings] = [await key(), await settingsFile()];
    const served = await (await fetch(`${berth.url}/agent/berth-agent.mjs`)).text();
    await writeFile(join(machine.root, 'opt/berth/berth-agent.mjs'), 'throw new Error("an old one");');
    const again = await install();
    expect(again).toContain('This machine was already host');
    expect(commandIn(again)).toEqual(commandIn(output));
    expect(await machine.read('/opt/berth/berth-agent.mjs')).toBe(served);
    expect(await key()).toBe(keyBefore);
    expect((await settingsFile()).split('\n').sort()).toEqual(settings.split('\n').sort());
    const agent = startInstalled(again);
    await runsSomething();
    await endAgent(agent);
  });

  test('H267: uninstall leaves the key, with which the host returns without a token, and the output of containers', async () => {
    // The name in the key takes precedence.
    const settings = (await settingsFile()).replace(/^BERTH_AGENT_NAME=.*\n/m, '');
    await writeFile(join(machine.root, INSTALLED[0] ?? ''), settings);
    const kept = (await machine.files()).filter((path) => path.startsWith('/var/lib/'));
    expect(kept).toContain(INSTALLED[4]);
    expect(kept.some((path) => path.endsWith('.log'))).toBe(true);
    const removed = await machine.run(['uninstall']);
    expect([removed.code, removed.output]).toEqual([0, removed.output]);
    expect(await machine.files()).toEqual(kept);
    expect(removed.output).toContain(`deleted at ${berth.url}: DELETE /api/0.7/host/`);
    expect(removed.output).toMatch(
      /label=berth\.deployment=e2e-install --filter label=berth\.host=installed\d+/,
    );
    expect(await install()).toContain('This machine was already host');
  });

  test('H267: the copy of the script beside the agent removes with --purge everything of the agent and nothing of others', async () => {
    await mkdir(join(machine.root, 'opt/another'));
    await writeFile(join(machine.root, 'var/lib/berth/by hand'), '');
    const copy = join(machine.root, 'opt/berth/install.sh');
    expect(await readFile(copy, 'utf8')).toContain(`served_by='${berth.url}'`);
    await run('sh', [copy, 'uninstall', '--purge'], { env: { ...process.env, BERTH_ROOT: machine.root } });
    expect(await machine.files()).toEqual(['/opt/another', '/var/lib/berth/by hand']);
    await rm(join(machine.root, 'var/lib/berth'), { recursive: true });
    expect(await machine.run(['uninstall'])).toEqual({ code: 0, output: 'No agent is installed here.\n' });
  });
});

describe('a new machine', () => {
  beforeEach(async () => {
    machine = await newMachine();
  });
  afterEach(() => machine.remove());

  /** Runs the script, which must fail and leave nothing; resolves to its output. */
  async function failure(env: NodeJS.ProcessEnv): Promise<string> {
    const { code, output } = await machine.run([], env);
    expect([code, output]).toEqual([1, output]);
    expect(await machine.files(), output).toEqual([]);
    return output;
  }

  const behindProxy = (tampering: Tampering) => startProxy(berth.url, tampering);

  test('H263, H265: a second run replaces the settings in its environment and leaves the others, and an existing data folder keeps its mode', async () => {
    const folder = join(machine.root, 'srv');
    await mkdir(folder, { mode: 0o755 });
    await install({
      BERTH_JOIN_TOKEN: await joinToken(),
      BERTH_AGENT_LABELS: 'gpu',
      BERTH_LIMITS: '{"logDays":3}',
      BERTH_AGENT_DATA_DIR: folder,
    });
    expect((await stat(folder)).mode & 0o777).toBe(0o755);
    expect((await stat(join(folder, 'e2e-install'))).mode & 0o777).toBe(0o700);
    // A person may have left the file like this: without quotes, with a duplicate name, and without a newline
    // at the end.
    const written = await machine.read('/etc/berth/agent.env');
    const edited = `${written.replace(/^(BERTH_AGENT_DATA_DIR)='(.*)'$/m, '$1=$2')}\n# ours\nBERTH_AGENT_MIN_DISK=2GiB\nBERTH_AGENT_RESERVE=cores=1\nBERTH_AGENT_RESERVE=cores=0`;
    await writeFile(join(machine.root, 'etc/berth/agent.env'), edited);
    const again = await install({ BERTH_AGENT_LABELS: 'ssd, with a space "and" $more' });
    expect(again).toContain('This machine was already host');
    const settings = await machine.read('/etc/berth/agent.env');
    expect(settings).toMatch(/\n# ours\n(.*\n)*BERTH_AGENT_RESERVE=cores=0\n$/);
    expect(settings).toContain(`\nBERTH_URL='${berth.url}'\n`);
    expect(settings).toContain("\nBERTH_DEPLOYMENT_NAME='e2e-install'\n");
    expect(settings).toContain('BERTH_AGENT_LABELS=\'ssd, with a space "and" $more\'\n');
    // A removed setting is in what took its place.
    expect(settings).toContain(`BERTH_LIMITS='{"logDays":3,"minDiskBytes":"2GiB"}'\n`);
    expect(settings.match(/LABELS/g)).toHaveLength(1);
  });

  test('P191: the script installs from the first control plane of a list that answers, and the agent gets the list', async () => {
    const output = await install({
      BERTH_JOIN_TOKEN: await joinToken(),
      BERTH_URL: `http://127.0.0.1:1/, ${berth.url}/`,
    });
    expect(output).toContain(`Fetching the agent from ${berth.url}`);
    expect(output).toMatch(/warning +http:\/\/127\.0\.0\.1:1\/healthz cannot be reached/);
    expect(await machine.read('/etc/berth/agent.env')).toContain(
      `BERTH_URL='http://127.0.0.1:1,${berth.url}'\n`,
    );
  });

  test.each<[string, NodeJS.ProcessEnv, RegExp]>([
    ['without a token', {}, /BERTH_JOIN_TOKEN is not set(.|\n)*POST \/api\/0\.7\/host\/token/],
    [
      'without an engine',
      { BERTH_JOIN_TOKEN: 'unused', DOCKER_HOST: 'unix:///nowhere/docker.sock' },
      /problem +No Docker engine answers at unix:\/\/\/nowhere(.|\n)*Install Docker/,
    ],
    [
      'if the control plane is unreachable',
      { BERTH_JOIN_TOKEN: 'unused', BERTH_URL: 'http://127.0.0.1:1/' },
      /http:\/\/127\.0\.0\.1:1 cannot be reached(.|\n)*Check BERTH_URL/,
    ],
    [
      'with a setting that the settings file cannot contain',
      { BERTH_JOIN_TOKEN: 'unused', BERTH_AGENT_LABELS: "it's" },
      /BERTH_AGENT_LABELS has a single quote/,
    ],
    [
      'with a folder that is a relative path',
      { BERTH_JOIN_TOKEN: 'unused', BERTH_AGENT_DATA_DIR: 'data' },
      /DATA_DIR=data does not begin/,
    ],
  ])(
    'H264: the installation fails %s, names the cause and the remedy, and changes nothing',
    async (_, env, words) => {
      expect(await failure(env)).toMatch(words);
    },
  );

  test('H264: the installation fails if the control plane is another server', async () => {
    const none = await behindProxy({
      body: (body, path) => (path.endsWith('info') ? Buffer.from('{}') : body),
    });
    const other = await failure({ BERTH_JOIN_TOKEN: 'unused', BERTH_URL: none });
    expect(other).toMatch(/does not answer like a control plane/);
  });

  test('H264: the installation fails if the agent does not match its checksum', async () => {
    const url = await behindProxy({
      body: (body, path) => (path.endsWith('.mjs') ? Buffer.concat([body, Buffer.from(';')]) : body),
    });
    const output = await failure({ BERTH_JOIN_TOKEN: await joinToken(), BERTH_URL: url });
    expect(output).toMatch(/does not match its checksum(.|\n)*Try again/);
  });

  test('H365: the installation fails if agent and checksum were both replaced after the token was made', async () => {
    const other = Buffer.from('console.log("another program")');
    const digest = createHash('sha256').update(other).digest('hex');
    const url = await behindProxy({
      body: (body, path) => {
        if (path.endsWith('.sha256')) return Buffer.from(`${digest}  berth-agent.mjs\n`);
        return path.endsWith('.mjs') ? other : body;
      },
    });
    const answer = await berth.api.http.post('host/token', {});
    const { token, agent_sha256 } = answer.json<Record<string, string>>();
    const env = { BERTH_JOIN_TOKEN: token, BERTH_URL: url };
    const output = await failure({ ...env, BERTH_BUNDLE_SHA256: agent_sha256 });
    expect(output).toMatch(/does not match its checksum(.|\n)*a new join token/);
    expect(output).not.toContain('another program');
    const { code } = await machine.run([], {
      ...env,
      BERTH_URL: berth.url,
      BERTH_BUNDLE_SHA256: agent_sha256,
    });
    expect(code).toBe(0);
  });

  test('H264: the key stays if the answer to the join is lost, and joins with the same token', async () => {
    const lossy = await behindProxy({
      body: (body, path) => (path.endsWith('register') ? Buffer.from('') : body),
    });
    const token = await joinToken();
    const { code, output } = await machine.run([], { BERTH_JOIN_TOKEN: token, BERTH_URL: lossy });
    expect([code, output]).toEqual([1, expect.stringMatching(/key of this machine stays(.|\n)*same token/)]);
    expect(await machine.files()).toEqual(INSTALLED.slice(4));
    expect(await install({ BERTH_JOIN_TOKEN: token })).toContain('This machine is now host');
  });

  test('H264: the installation fails if the clock is far off, unless that is allowed', async () => {
    const url = await behindProxy({ datedAgoMs: 60_000 });
    const env = { BERTH_JOIN_TOKEN: await joinToken(), BERTH_URL: url };
    expect(await failure(env)).toMatch(/problem +The clock is (59|6\d) s ahead of the control plane's/);
    expect(await install({ ...env, BERTH_ANY_CLOCK: '1' })).toMatch(/warning +The clock is .* ahead of/);
  });

  test('H264: the installation fails without Node', async () => {
    const folder = await testFolder();
    for (const tool of ['uname', 'id'])
      await symlink((await run('which', [tool])).stdout.trim(), join(folder, tool));
    expect(await failure({ PATH: folder })).toMatch(/Node is not installed(.|\n)*nodejs\.org/);
  });

  test('H267: an unknown command or option changes nothing', async () => {
    for (const words of [['unistall'], ['uninstall', '--all']]) {
      const { code, output } = await machine.run(words);
      expect([code, output]).toEqual([1, expect.stringContaining(`'${words.at(-1)}'`)]);
    }
  });
});
