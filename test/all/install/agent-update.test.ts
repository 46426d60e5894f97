/** An agent that a control plane updates: real processes, from the installation to the new version. */
import { generateKeyPairSync } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureAgentBundle } from '../../../control-plane/local/assets/agent-bundle.ts';
import { VERSION } from '../../../control-plane/version.ts';
import { signRelease } from '../../../release/sign-agent.ts';
import { signedReleaseSchema } from '../../../shared/protocol/release.ts';
import { CommandLine } from '../../support/clients/command-line.ts';
import { commandIn, Installation } from '../../support/engines/installation.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { type Program, startCommand } from '../../support/hosts/process.ts';
import { type Berth, PASSWORD, startBerth } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const { privateKey } = generateKeyPairSync('ed25519');
const LATER = '9.0.1';
const SETTINGS = '/etc/berth/agent.env';
const OTHER_KEY = 'x'.repeat(43);

let folder: string;
let own: string;
let berth: Berth;
let machine: Installation;
let command: string[];
let agent: Program;
let cli: CommandLine;
let execution: number;

/** Has the control plane offer this agent, signed as this version. */
async function offer(bundle: string, version: string): Promise<void> {
  await writeFile(join(folder, 'berth-agent.mjs'), bundle);
  const release = signRelease(Buffer.from(bundle), version, privateKey);
  await writeFile(join(folder, 'release.json'), JSON.stringify(release));
  if (!berth) return;
  await berth.program.stop();
  await berth.start();
  await eventually(async () => (await berth.api.host('updated')).connected, 60_000);
}

const startAgent = () => startCommand(command, { cwd: '/', env: { BERTH_URL: undefined } });
const versionOf = async () => (await berth.api.host('updated')).agent_version;
const containers = async () => (await berth.containersOf(execution)).map(({ Id, State }) => [Id, State]);

beforeAll(async () => {
  folder = await scratchFolder('berth-release-');
  await ensureAgentBundle(folder);
  own = await readFile(join(folder, 'berth-agent.mjs'), 'utf8');
  await offer(own, VERSION);
  const env = { BERTH_LOCAL_AGENT: 'off', BERTH_AGENT_RELEASE: folder };
  berth = await startBerth({ deployment: 'e2e-update', env });
  machine = await Installation.prepare(berth.url, { BERTH_AGENT_NAME: 'updated' });
  const { code, output } = await machine.run([], { BERTH_JOIN_TOKEN: await berth.api.joinToken() });
  expect([code, output]).toEqual([0, output]);
  command = commandIn(output);
  agent = startAgent();
  cli = new CommandLine(await scratchFolder('berth-home-'));
  await cli.logIn(berth.url, PASSWORD);
  execution = await berth.api.run(application(script('sleep 1000')));
});
afterAll(async () => {
  if (execution) await berth.api.terminate(execution);
  if (execution) await berth.api.waitFor(execution, 'terminated');
  await berth?.close(agent);
  await machine?.remove();
});

test('P200, H510: the script pins the key of the release that is served, and leaves it at a second run', async () => {
  const { key } = signedReleaseSchema.parse(await (await fetch(`${berth.url}/agent/release.json`)).json());
  const pinned = async () => /^BERTH_AGENT_RELEASE_KEY='(.*)'$/m.exec(await machine.read(SETTINGS))?.[1];
  expect(await pinned()).toBe(key);
  const settings = await machine.read(SETTINGS);
  await writeFile(join(machine.root, SETTINGS), settings.replace(key, OTHER_KEY));
  expect((await machine.run()).code).toBe(0);
  expect(await pinned()).toBe(OTHER_KEY);
  await writeFile(join(machine.root, SETTINGS), settings);
});

test('P202: an agent whose successor does not start goes on as before, and the command line states why', async () => {
  const before = await containers();
  await offer('console.error("no such engine"); process.exit(4);', '9.0.0');
  const { code, err } = await cli.run(['host', 'update', 'updated']);
  expect(err).toContain(
    'updated: The update to 9.0.0 failed: it ended (4) before it connected: no such engine',
  );
  expect(code).toBe(125);
  await eventually(async () => (await berth.api.host('updated')).connected, 60_000);
  expect([await versionOf(), await containers()]).toEqual([VERSION, before]);
  expect(agent.ended).toBeUndefined();
  expect(await readdir(join(machine.root, 'opt/berth'))).toEqual(['berth-agent.mjs', 'install.sh']);
  expect(await machine.read('/opt/berth/berth-agent.mjs')).toBe(own);
  expect((await berth.api.host('updated')).conditions.map(({ kind }) => kind)).toContain('update-failed');
});

test('P202, H511, L33: an agent is updated while its containers run on, once its successor has connected', async () => {
  const before = await containers();
  const later = own.replaceAll(`"${VERSION}"`, `"${LATER}"`);
  await offer(later, LATER);
  const updating = cli.run(['host', 'update', '--all']);
  // As systemd does.
  expect(await agent.waitForEnd(60_000)).toBe(0);
  expect(await machine.read('/opt/berth/berth-agent.mjs')).toBe(later);
  agent = startAgent();
  expect(await updating).toEqual({ code: 0, out: `updated  ${LATER}\n`, err: 'Updating updated (1 of 1)\n' });
  const { conditions, agent_version } = await berth.api.host('updated');
  expect(agent_version).toBe(LATER);
  expect(conditions.map(({ kind }) => kind)).toEqual(expect.not.arrayContaining(['update-failed']));
  expect(await containers()).toEqual(before);
  expect((await cli.run(['host', 'update', 'updated'])).out).toBe(`updated  ${LATER} (as before)\n`);
  const { id } = await berth.api.host('updated');
  expect(JSON.parse((await cli.run(['host', 'update', 'updated', '--json'])).out)).toEqual([
    { id, version: LATER, is_new: false },
  ]);
  expect(dirname(command.at(-1) ?? '')).toBe(join(machine.root, 'opt/berth'));
});
