/** Host folders of containers under an agent as hosts run it: by its systemd unit, and as an image. */
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type AttackContainer, swapFolders } from '../../../support/attacks/folder-swap.ts';
import { agentContainer, buildAgentImage } from '../../../support/engines/agent-image.ts';
import { commandIn, Installation } from '../../../support/engines/installation.ts';
import { underUnit, withoutCapability } from '../../../support/engines/unit-sandbox.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { startCommand } from '../../../support/hosts/process.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const run = promisify(execFile);
/** More tries by SWAP_TRIES=1000. */
const TRIES = Number(process.env.SWAP_TRIES ?? 10);
const START_MS = 60_000;
const ATTACK_MS = 180_000 + 12_000 * TRIES;

let berth: Berth;
let base: string;
let root: string;
let hosts = 0;

beforeAll(async () => {
  berth = await startBerth({ deployment: 'e2e-folders', env: { BERTH_LOCAL_AGENT: 'off' } });
});
afterAll(() => berth.close());
beforeEach(async () => {
  base = await testFolder();
  root = `${base}/root`;
  await mkdir(`${root}/swapped`, { recursive: true });
  await writeFile(`${root}/swapped/inside`, '');
  await mkdir(`${base}/outside`);
  await writeFile(`${base}/outside/secret`, '');
});
afterEach(() => berth.api.endAll());

/**
 * Installs the agent by its script and starts it under the unit, as changed, for the current test. Resolves
 * to the name of its host.
 */
async function startUnit(change: (unit: string) => string = (unit) => unit): Promise<string> {
  const name = `unit${hosts++}`;
  const machine = await Installation.prepare(berth.url, { BERTH_AGENT_NAME: name });
  onTestFinished(() => machine.remove());
  const { code, output } = await machine.run([], {
    BERTH_JOIN_TOKEN: await berth.api.joinToken(),
    BERTH_AGENT_VOLUME_ROOTS: root,
  });
  expect([code, output]).toEqual([0, output]);
  const unit = await machine.read('/etc/systemd/system/berth-agent.service');
  const agent = startCommand(underUnit(change(unit), commandIn(output)), {
    cwd: '/',
    env: { BERTH_URL: undefined },
  });
  onTestFinished(async () => {
    await berth.api.endAll();
    expect(await agent.stop()).toBe(0);
  });
  await agent.waitFor(/session\.synced/, START_MS);
  return name;
}

const serviceOf = ({ volumes, command }: AttackContainer) =>
  script(String(command[2]), {
    volumes: volumes.map(({ name, path, readOnly }) => ({ name, path, read_only: readOnly })),
  });

const attack = () =>
  swapFolders({
    root,
    outside: `${base}/outside`,
    proof: 'secret',
    tries: TRIES,
    start: async (container) => {
      const id = await berth.api.run(application(serviceOf(container)), START_MS);
      return () => berth.api.terminate(id);
    },
    run: async (container) => {
      const id = await berth.api.submit(application(serviceOf(container)));
      const { error_message } = await berth.api.waitFor(id, 'error', START_MS);
      const [, exitCode] = /exit code (\d+)/.exec(String(error_message)) ?? [];
      return exitCode === undefined ? String(error_message) : Number(exitCode);
    },
  });

test('P112: under the unit no container mounts a folder outside of the root, and what the host has mounted beneath a volume stays mounted', {
  timeout: ATTACK_MS,
}, async () => {
  const below = `${root}/below`;
  await mkdir(below);
  await run('mount', ['-t', 'tmpfs', 'none', below]);
  try {
    await writeFile(`${below}/inside`, '');
    await startUnit();
    const { escaped, inside } = await attack();
    expect(escaped).toBe(0);
    expect(inside).toBeGreaterThanOrEqual(TRIES);

    const volumes = [{ name: 'in', path: root, readOnly: false }];
    const command = ['sh', '-c', 'test -e /mnt/in/below/inside'];
    const id = await berth.api.submit(application(serviceOf({ command, volumes })));
    await berth.api.waitFor(id, 'terminated', START_MS);
    await run('mountpoint', ['-q', below]);
    await berth.api.endAll();
  } finally {
    await run('umount', [below]);
  }
  const label = [`berth.deployment=${berth.deployment}`];
  expect((await berth.docker.listVolumes({ filters: { label } })).Volumes ?? []).toEqual([]);
});

test('H268, P112: the image that agent/install/Dockerfile builds joins and runs services, and without the folders in it no container mounts one outside of the root', {
  timeout: ATTACK_MS,
}, async () => {
  const image = await buildAgentImage(berth.docker, berth.url);
  onTestFinished(image.remove);
  const container = await agentContainer(berth.docker, image, {
    BERTH_URL: berth.url,
    BERTH_JOIN_TOKEN: await berth.api.joinToken(),
    BERTH_DEPLOYMENT_NAME: berth.deployment,
    BERTH_AGENT_NAME: 'contained',
    BERTH_AGENT_VOLUME_ROOTS: root,
  });
  onTestFinished(() => container.remove({ force: true, v: true }));
  await container.start();
  const { escaped, inside } = await attack();
  expect(escaped).toBe(0);
  expect(inside).toBeGreaterThanOrEqual(TRIES);
  await berth.api.endAll();
  await container.stop();
  expect((await container.inspect()).State.ExitCode).toBe(0);
});

test('P113, P115: an agent that cannot pin folders refuses one whose parent a container can write, names it, and has a condition', async () => {
  const host = await startUnit((unit) => withoutCapability(unit, 'CAP_SYS_PTRACE'));
  const { api } = berth;
  const volume = (path: string) => ({ name: 'in', path, read_only: false });
  const mounting = (path: string, text = 'test -d /mnt/in') =>
    application(script(text, { volumes: [volume(path)] }));
  const writer = await api.run(mounting(root, 'sleep 1000'), START_MS);
  const refused = await api.waitFor(await api.submit(mounting(`${root}/swapped`)), 'error', START_MS);
  expect(refused.error_message).toContain(
    `volume in: a container could exchange the folder ${root}/swapped: it must be mounted when no other container can write to ${root}`,
  );
  await eventually(async () => {
    const { conditions } = await api.host(host);
    const text = expect.stringContaining('SYS_PTRACE');
    return expect(conditions).toContainEqual({ kind: 'unpinned-folders', text });
  });
  await api.waitFor(await api.submit(mounting(root)), 'terminated', START_MS);
  await api.end(writer);
  await api.waitFor(await api.submit(mounting(`${root}/swapped`)), 'terminated', START_MS);
});
