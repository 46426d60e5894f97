/** Host folders of containers on an engine of the test's own, with real folders: pinned, held and refused. */
import { mkdir, readdir, realpath, rename, symlink } from 'node:fs/promises';
import { beforeEach, expect, test, vi } from 'vitest';
import { isBeneath } from '../../../../../agent/engine/folders/allowed-folders.ts';
import { containerUser } from '../../../../../agent/engine/folders/container-user.ts';
import { HostFolders } from '../../../../../agent/engine/folders/host-folders.ts';
import { SecretFiles } from '../../../../../agent/engine/folders/secret-files.ts';
import { withSecrets } from '../../../../../agent/engine/folders/start-secrets.ts';
import { Refusal, scriptedEngine } from '../../../../support/engines/scripted-engine.ts';
import { assignment } from '../../../../support/fixtures/assignments.ts';
import { failure } from '../../../../support/fixtures/failures.ts';
import { testFolder } from '../../../../support/tools/test-folder.ts';

let base: string;
beforeEach(async () => {
  base = await testFolder();
  await mkdir(`${base}/volumes/data`, { recursive: true });
});

const volume = { name: 'v', readOnly: true };
const data = () => assignment({ volumes: [{ ...volume, path: `${base}/volumes/data` }] });
const root = () => assignment({ volumes: [{ ...volume, path: `${base}/volumes`, readOnly: false }] });

/** `canPin`: what the engine finds in the volume of the proof, or the status of its refusal. */
async function rig(canPin: true | number, workspaceRoot: string | null = null) {
  const listed = { containers: [] as object[], volumes: null as object[] | null };
  const proof = { canPin, mounts: [] as unknown[], created: undefined as unknown };
  await mkdir(`${base}/proof`, { recursive: true });
  const { docker, calls } = await scriptedEngine(async ({ call, body, filters }) => {
    if (call === 'POST /volumes/create') return {};
    if (call.startsWith('GET /volumes/berth-probe-')) return { Mountpoint: `${base}/proof` };
    if (call === 'POST /containers/create') {
      proof.created = body;
      return { Id: 'p1' };
    }
    if (call === 'HEAD /containers/p1/archive') {
      if (proof.canPin !== true) throw new Refusal(proof.canPin, 'no');
      const [made = ''] = await readdir(`${base}/proof`);
      return made.startsWith('berth-probe-') ? {} : undefined;
    }
    if (call === 'GET /containers/json')
      return filters.label ? listed.containers.filter((one) => 'Labels' in one) : listed.containers;
    if (call === 'GET /volumes') return { Volumes: listed.volumes };
    return call.startsWith('DELETE') ? {} : undefined;
  });
  const rules = { volumeRoots: [`${base}/volumes`], workspaceRoot };
  const folders = new HostFolders(docker, rules, { 'berth.folders': 'node1' }, { 'berth.service': '' });
  const problems: (string | undefined)[] = [];
  folders.watch((problem) => problems.push(problem));
  const deleted = () => calls.filter((call) => call.startsWith('DELETE')).map((call) => call.slice(7, 30));
  return { folders, problems, calls, deleted, listed, proof };
}

test('P112: a folder that can be pinned is mounted as the one that the agent holds open, until its container has started', async () => {
  const { folders, problems, proof, deleted, calls } = await rig(true);
  const opened = await folders.open(data());
  expect(problems).toEqual([undefined]);
  const handle = opened[0]?.folder.handle;
  const mount = (o: string, fd: number | undefined, Target: string) => ({
    ...{ Type: 'volume', Source: '', Target },
    VolumeOptions: {
      ...{ NoCopy: true, Labels: { 'berth.folders': 'node1' } },
      DriverConfig: { Name: 'local', Options: { type: 'none', o, device: `/proc/${process.pid}/fd/${fd}` } },
    },
  });
  expect(folders.mountsOf(opened)).toEqual([mount('rbind,ro,rprivate', handle?.fd, '/mnt/v')]);
  const probe = mount('rbind,ro,rprivate', 0, '/probe');
  probe.VolumeOptions.DriverConfig.Options.device = expect.stringMatching(/^\/proc\/\d+\/fd\/\d+$/);
  expect(proof.created).toEqual({
    ...{ Image: 'berth/busybox:1', NetworkDisabled: true, HostConfig: { Mounts: [probe] } },
    Labels: { 'berth.folders': 'node1', 'berth.service': '' },
  });
  expect(deleted()).toEqual(['/containers/p1', expect.stringMatching(/^\/volumes\/berth-probe-/)]);
  expect(await realpath(`/proc/self/fd/${handle?.fd}`)).toBe(`${base}/volumes/data`);
  folders.hold('c1', opened);
  expect([folders.holds('c1'), folders.holds('c2')]).toEqual([true, false]);
  await rename(`${base}/volumes`, `${base}/moved`);
  const run = vi.fn(async () => {});
  await folders.whileSafe('c1', run);
  await folders.release('c1');
  expect([run.mock.calls.length, handle?.fd, folders.holds('c1')]).toEqual([1, -1, false]);
  await folders.release('c1');
  await rename(`${base}/moved`, `${base}/volumes`);
  const looks = calls.length;
  const again = await folders.open(root());
  expect([calls.length, again[0]?.isRoot]).toEqual([looks, true]);
  expect(folders.mountsOf(again)).toEqual([mount('rbind,rprivate', again[0]?.folder.handle?.fd, '/mnt/v')]);
  await again[0]?.folder.handle?.close();
  folders.forgetProof();
  proof.canPin = 404;
  await folders.open(root());
  expect(problems).toEqual([undefined, expect.stringContaining("host folders can't be pinned")]);
  expect((await folders.open(assignment())).length).toBe(0);
});

test('P112: a proof that the engine does not answer is tried again at the next start', async () => {
  const { folders, proof, problems } = await rig(404);
  proof.canPin = 0;
  await expect(folders.open(data())).rejects.toThrow();
  expect(problems).toEqual([]);
  proof.canPin = true;
  for (const { folder } of await folders.open(data())) await folder.handle?.close();
  expect(problems).toEqual([undefined]);
});

test('P113: a folder that is not pinned is mounted unless another container can exchange it, and a root always', async () => {
  const { folders, listed } = await rig(500);
  const opened = await folders.open(data());
  expect(folders.mountsOf(opened)).toEqual([
    { Type: 'bind', Source: `${base}/volumes/data`, Target: '/mnt/v', ReadOnly: true },
  ]);
  const start = async (of: typeof opened) => {
    folders.hold('c1', of);
    const run = vi.fn(async () => {});
    const problem = await folders.whileSafe('c1', run).catch(({ kind, message }) => `${kind} ${message}`);
    return [run.mock.calls.length === 1, problem];
  };
  const mounted = (Id: string, Source: string, RW: boolean) => ({ Id, Mounts: [{ Source, RW }] });
  const fine = [true, undefined];
  listed.containers = [
    mounted('c1', `${base}/volumes`, true),
    mounted('c2', `${base}/volumes`, false),
    mounted('c3', `${base}/volumes/data`, true),
    mounted('c4', `${base}/volumes/dat`, true),
    { Id: 'c5' },
  ];
  expect(await start(opened)).toEqual(fine);
  listed.containers.push(mounted('c6', `${base}/volumes`, true));
  expect(await start(opened)).toEqual([
    false,
    expect.stringMatching(/^permanent volume v: a container could exchange/),
  ]);
  expect(await start(await folders.open(root()))).toEqual(fine);
  listed.containers = [];
  await rename(`${base}/volumes/data`, `${base}/other`);
  expect(await start(opened)).toEqual([false, expect.stringMatching(/^temporary .* was exchanged/)]);
  await symlink(`${base}/other`, `${base}/volumes/data`);
  expect(await start(opened)).toEqual([false, expect.stringMatching(/^temporary .* was exchanged/)]);
});

test('P111: a container mounts folders for a volume or for the workspace only', async () => {
  const { folders } = await rig(404);
  expect([data(), assignment()].map((one) => folders.mayMount(one))).toEqual([true, false]);
  const { folders: withWorkspaces } = await rig(404, `${base}/volumes`);
  expect(withWorkspaces.mayMount(assignment())).toBe(true);
  const opened = await withWorkspaces.open(assignment({ owner: 'data' }));
  expect(opened).toMatchObject([{ target: '/workspace', readOnly: false, isRoot: false }]);
  expect(opened[0]?.folder.handle).toBeUndefined();
});

test('P112: what a killed agent has left of its proof is removed, and no service', async () => {
  const { folders, listed, deleted, calls } = await rig(true);
  await folders.removeUnused();
  expect(deleted()).toEqual([]);
  listed.containers = [
    { Id: 'left', Labels: { 'berth.service': '' } },
    { Id: 'service', Labels: { 'berth.service': '1' } },
  ];
  listed.volumes = [{ Name: 'probe' }];
  await folders.removeUnused();
  expect(deleted()).toEqual(['/containers/left', '/volumes/probe']);
  expect(calls).toContain('GET /volumes');
});

test('P111: a folder is beneath itself, the root folder and its parents, and not beneath a name that begins its own', () => {
  for (const [path, of, expected] of [
    ['/a', '/a', true],
    ['/a/b', '/a', true],
    ['/a', '/', true],
    ['/ab', '/a', false],
    ['/a', '/a/b', false],
  ] as const)
    expect([path, of, isBeneath(path, of)]).toEqual([path, of, expected]);
});

test.each([
  ['image', true, null, undefined],
  ['image', true, 'root', 'root'],
  ['fs_uid', false, 'root', 'root'],
  ['fs_uid', false, null, undefined],
  ['fs_uid', true, null, '1000:1000'],
  ['fs_uid', true, '1000', '1000:1000'],
  ['fs_uid', true, '1000:1000', '1000:1000'],
  ['fs_uid', true, '1000:0', 'nobody'],
] as const)('P110: as %s, with folders %s, user %s runs as %s', (runAs, hasFolders, user, expected) => {
  const run = () => containerUser({ user, ownerUid: 1000 }, hasFolders, runAs);
  if (expected === 'nobody') expect(run).toThrow('not allowed');
  else expect(run()).toBe(expected);
});

test('P220, P222: a start has the values of its secrets, or the reason why it has none', async () => {
  const secretFiles = new SecretFiles(undefined);
  const { signal } = new AbortController();
  const wanted = assignment({ secrets: true });
  const progress: string[] = [];
  const at = { secretFiles, signal, progress: (detail: string) => progress.push(detail) };
  const start = (answer: unknown, of = wanted) =>
    withSecrets(of, { ...at, fetchSecrets: async () => answer as never });
  const plain = assignment();
  expect(await start(undefined, plain)).toBe(plain);
  const values = { environment: [['A', 'b']], files: [] };
  expect(await start({ kind: 'values', values })).toEqual({ ...wanted, ...values });
  const refused = { kind: 'permanent', message: 'no' };
  await expect(start({ kind: 'refused', message: 'no' })).rejects.toMatchObject(refused);
  expect(progress).toEqual([]);
  const later = failure('unreachable', 'away');
  await expect(start({ kind: 'unreachable', message: 'away' })).rejects.toMatchObject(later);
  expect(progress).toEqual(['waiting for its secrets: away']);
});
