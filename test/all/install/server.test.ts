/**
 * `berth server install`, on one machine with a real systemd. Each test continues where the one before it
 * ended: refusals, an installation, its update, its removal, and another installation.
 */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { testEngine } from '../../support/engines/engine.ts';
import { SystemdMachine } from '../../support/engines/systemd-machine.ts';
import { thisRelease } from '../../support/releases/this-release.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { suiteFolder } from '../../support/tools/test-folder.ts';

const run = promisify(execFile);
/** It has whatever a settings file might spoil. */
const PASSWORD = 'back\\slash "quotes" $HOME #1';
const NEWER = '9.9.9';
const [UNIT, SETTINGS] = ['/etc/systemd/system/berth-server.service', '/etc/berth/server.env'];
const [PROGRAM, DATA] = ['/opt/berth/server', '/var/lib/berth-server'];

// An installation copies 250 MB.
vi.setConfig({ testTimeout: 300_000 });

const folder = suiteFolder();
let prefix: string;
let machine: SystemdMachine;

beforeAll(async () => {
  ({ prefix } = await thisRelease());
  // The package of a newer version, as npm installs it.
  await run('cp', ['-al', prefix, join(folder, 'newer')]);
  const manifest = join(folder, 'newer/lib/node_modules/berth/package.json');
  const text = await readFile(manifest, 'utf8');
  await rm(manifest);
  await writeFile(manifest, JSON.stringify({ ...JSON.parse(text), version: NEWER }));
  machine = await SystemdMachine.start(await testEngine(), {
    '/mnt/berth': prefix,
    '/mnt/newer': join(folder, 'newer'),
    '/mnt/node': process.execPath,
  });
}, 300_000);
afterAll(() => machine?.remove());

/** `berth server install`, of the package at `prefix`. */
const install = (options: string[] = [], env: string[] = [], prefix = '/mnt/berth') =>
  machine.run(...env, '/mnt/node', `${prefix}/bin/berth`, 'server', 'install', ...options);

async function installed(env: string[] = [], prefix?: string): Promise<string> {
  const { code, output } = await install([], env, prefix);
  if (code !== 0)
    throw new Error(`${output}\n${(await machine.run('journalctl', '-u', 'berth-server')).output}`);
  return output;
}

/** The JSON that the control plane of the machine answers. */
async function answer(path: string, port = 5001): Promise<Record<string, unknown>> {
  const script = `
    const authorization = 'Basic ' + Buffer.from('admin:' + process.env.PASSWORD).toString('base64');
    const answer = await fetch('http://127.0.0.1:${port}/api/0.7/${path}', { headers: { authorization } });
    console.log(await answer.text());`;
  const words = ['/mnt/node', '--input-type=module', '--eval', script];
  return JSON.parse(await machine.succeed(`PASSWORD=${PASSWORD}`, ...words));
}

const linesOf = async (...words: string[]) => (await machine.succeed(...words)).trim().split('\n');
const modeOf = (path: string) => machine.succeed('stat', '--format=%a %U', path);

/** Neither program nor data nor settings are on the machine. */
const nothing = async () =>
  expect(await linesOf('sh', '-c', `ls -d ${UNIT} ${DATA} /etc/berth /opt/berth 2>/dev/null; true`)).toEqual([
    '',
  ]);

test.each([
  ['that the control plane refuses', 'BERTH_PORT=many', /BERTH_PORT.*Nothing was changed/],
  ['that the file can not have', "BERTH_SHOP=it's", /BERTH_SHOP has a single quote/],
  ['that would move the data', 'BERTH_DATA_DIR=/srv', /BERTH_DATA_DIR is \/srv, but .*mount another disk/],
  ['that needs root', 'BERTH_LOCAL_AGENT=on', /BERTH_LOCAL_AGENT is on, but .*berth host token/],
])('L91: a setting %s changes nothing', async (_, setting, words) => {
  const { code, output } = await install([], [setting]);
  expect([code, output]).toEqual([125, expect.stringMatching(words)]);
  await nothing();
});

test('L91: without root, or with --purge alone, nothing is changed', async () => {
  const user = ['setpriv', '--reuid=1000', '--clear-groups', '/mnt/node', '/mnt/berth/bin/berth'];
  const { code, output } = await machine.run(...user, 'server', 'install');
  expect([code, output]).toEqual([125, 'This needs root: run it with sudo --preserve-env.\n']);
  expect((await install(['--purge'])).output).toContain('--purge goes with --uninstall only.');
  await nothing();
});

test('L88, L92: server install runs the control plane as a service with a user of its own, which can write to its data only', async () => {
  const output = await installed([`BERTH_ADMIN_PASSWORD=${PASSWORD}`, 'BERTH_DEPLOYMENT_NAME=site']);
  expect(output).toMatch(/^Berth \d+\.\d+\.\d+ is installed and listens on http:\/\/127\.0\.0\.1:5001\./);
  expect(await answer('info')).toMatchObject({ deployment_name: 'site' });
  expect(await answer('login')).toMatchObject({ user: { username: 'admin' } });
  expect(await linesOf('systemctl', 'is-enabled', 'berth-server')).toEqual(['enabled']);
  const [pid = ''] = await linesOf('systemctl', 'show', '--property=MainPID', '--value', 'berth-server');
  expect(await linesOf('ps', '-o', 'user=', '-p', pid)).toEqual(['berth-server']);
  expect(await machine.succeed('cat', `/proc/${pid}/status`)).toMatch(
    /CapBnd:\t0{16}\n(.*\n)*NoNewPrivs:\t1\n/,
  );
  // As the service sees it.
  const writable =
    "find / /opt -xdev -writable -not -type l -not -path '/proc/*' -not -path '/dev/*' 2>/dev/null";
  const search = ['setpriv', '--reuid=berth-server', '--clear-groups', 'sh', '-c', `${writable}; true`];
  const found = await linesOf('nsenter', '--target', pid, '--mount', ...search);
  const own = new RegExp(`^(${DATA}|/var/cache/berth-server|/tmp|/var/tmp)(/|$)`);
  expect(found.filter((path) => !own.test(path))).toEqual([]);
  expect(await modeOf(DATA)).toBe('700 berth-server\n');
  expect(await machine.run('systemd-analyze', 'verify', '--man=no', UNIT)).toEqual({ code: 0, output: '' });
  const security = await machine.run('systemd-analyze', 'security', '--threshold=20', 'berth-server.service');
  expect(security.code, security.output).toBe(0);
});

test('L90: a further run changes nothing, one of a newer package updates it, and the data stays', async () => {
  const sum = ['sh', '-c', `find ${PROGRAM} ${UNIT} ${SETTINGS} -type f -exec sha256sum {} + | sort`];
  const before = await machine.succeed(...sum);
  expect(await installed()).toMatch(/is updated and listens/);
  expect(await machine.succeed(...sum)).toBe(before);
  const restarts = [
    'systemctl',
    'show',
    '--property=ActiveEnterTimestampMonotonic',
    '--value',
    'berth-server',
  ];
  const started = await machine.succeed(...restarts);
  expect(await installed([], '/mnt/newer')).toContain(`Berth ${NEWER} is updated`);
  expect(await machine.succeed(...restarts)).not.toBe(started);
  expect(await answer('info')).toMatchObject({ version: NEWER });
  expect(await answer('login')).toMatchObject({ user: { username: 'admin' } });
  expect(await linesOf('ls', '-A', '/opt/berth')).toEqual(['server']);
});

test('L93: --uninstall keeps data and settings for the next installation, and --purge removes them, but nothing of an agent', async () => {
  const agent = ['/etc/berth/agent.env', '/opt/berth/berth-agent.mjs', '/var/lib/berth/local/key'];
  for (const path of agent) await machine.succeed('sh', '-c', `mkdir -p $(dirname ${path}) && touch ${path}`);
  const removed = await install(['--uninstall']);
  expect([removed.code, removed.output]).toEqual([0, expect.stringContaining(`Its data stays in ${DATA}`)]);
  expect((await machine.run('systemctl', 'is-active', 'berth-server')).output).toBe('inactive\n');
  expect((await machine.run('ls', UNIT, PROGRAM)).code).toBe(2);
  await installed();
  expect(await answer('info')).toMatchObject({ deployment_name: 'site' });
  expect(await answer('login')).toMatchObject({ user: { username: 'admin' } });

  const { output: purged } = await install(['--uninstall', '--purge']);
  expect(purged).toBe('The control plane is removed, with its data and settings.\n');
  expect((await machine.run('ls', UNIT, PROGRAM, DATA, SETTINGS, '/var/cache/berth-server')).code).toBe(2);
  expect((await machine.run('id', 'berth-server')).code).toBe(1);
  expect(await linesOf('ls', '-1', ...agent)).toEqual(agent);
  expect((await install(['--uninstall', '--purge'])).output).toBe('No control plane is installed here.\n');
  await eventually(async () => (await machine.run('pgrep', 'node')).code === 1);
});

test('L89: a further run replaces the settings in its environment and keeps the others, readable for root only', async () => {
  const others = ['BERTH_URL=x', 'BERTH_AGENT_NAME=x', 'BERTH_TOKEN=x'];
  const output = await installed(['BERTH_DEPLOYMENT_NAME=site', 'BERTH_PORT=5002', ...others]);
  expect(output).toContain("journalctl -u berth-server | grep 'First start'");
  const log = await machine.succeed('journalctl', '--unit=berth-server', '--output=cat');
  expect(log).toMatch(/First start: the administrator is admin, the password \S+ \(shown only now\)/);
  const expected = ["BERTH_DEPLOYMENT_NAME='site'", "BERTH_DATA_DIR='/var/lib/berth-server'"];
  const first = await linesOf('cat', SETTINGS);
  expect(first.sort()).toEqual([...expected, "BERTH_LOCAL_AGENT='off'", "BERTH_PORT='5002'"].sort());
  await machine.succeed('sh', '-c', `echo '# ours' >> ${SETTINGS}`);
  await installed(['BERTH_PORT=5003']);
  expect(await answer('info', 5003)).toMatchObject({ deployment_name: 'site' });
  const second = await linesOf('cat', SETTINGS);
  expect(second.filter((line) => line.startsWith('BERTH_PORT'))).toEqual(["BERTH_PORT='5003'"]);
  expect(second).toEqual(expect.arrayContaining([...expected, '# ours']));
  expect(await modeOf(SETTINGS)).toBe('600 root\n');
});

test('L91: a control plane that does not start is reported with the place of the reason', async () => {
  await machine.succeed('systemctl', 'stop', 'berth-server');
  await machine.succeed('rm', '-rf', `${DATA}/berth.db`);
  await machine.succeed('mkdir', `${DATA}/berth.db`);
  const { code, output } = await install();
  expect(code).toBe(125);
  expect(output).toMatch(/does not start. See: journalctl -u berth-server/);
});
