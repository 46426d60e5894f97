/** Which folders a container may mount, on real folders and links. */
import { mkdir, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { beforeEach, expect, test } from 'vitest';
import {
  allowedFolders,
  closeFolders,
  type MountRules,
  missingWorkspace,
} from '../../../../../agent/engine/folders/allowed-folders.ts';
import { openFolder } from '../../../../../agent/engine/folders/open-folder.ts';
import { assignment } from '../../../../support/fixtures/assignments.ts';
import { failure } from '../../../../support/fixtures/failures.ts';
import { testFolder } from '../../../../support/tools/test-folder.ts';

let base: string;

beforeEach(async () => {
  base = await testFolder();
  await mkdir(`${base}/volumes/data/deep`, { recursive: true });
  await mkdir(`${base}/outside/alice`, { recursive: true });
});

const pathTo = async (path: string): Promise<string | undefined> => {
  const folder = await openFolder('/', path);
  await folder?.handle?.close();
  return folder?.path;
};

test('P112: the path that is found has no links, dots or doubled slashes', async () => {
  await symlink('data', `${base}/volumes/relative`);
  await symlink(`${base}/volumes/relative/../data`, `${base}/volumes/absolute`);
  expect(await pathTo(`${base}/volumes//./absolute/deep/..`)).toBe(`${base}/volumes/data`);
  expect(await pathTo('/..')).toBe('/');
});
test('P112: a folder that was opened stays the same folder when another takes its place', async () => {
  const folder = await openFolder('/', `${base}/volumes/data`);
  await rename(`${base}/volumes/data`, `${base}/volumes/old`);
  await symlink(`${base}/outside`, `${base}/volumes/data`);
  expect(await realpath(`/proc/self/fd/${folder?.handle?.fd}`)).toBe(`${base}/volumes/old`);
  await folder?.handle?.close();
});
test('P112: links are followed beneath the given root folder and never above it', async () => {
  await symlink('/../../outside', `${base}/volumes/up`);
  await mkdir(`${base}/volumes/outside`);
  const folder = await openFolder(`${base}/volumes`, '/up');
  expect(await realpath(`/proc/self/fd/${folder?.handle?.fd}`)).toBe(`${base}/volumes/outside`);
  await folder?.handle?.close();
});
test('P112: there is no folder behind a file, a circle of links, or a path that is too long or too deep', async () => {
  await writeFile(`${base}/file`, '');
  await symlink('circle', `${base}/circle`);
  const deep = `${base}/${'d/'.repeat(101)}`;
  await mkdir(deep, { recursive: true });
  for (const path of ['file', 'file/x', 'circle', 'none', 'd\0', `${'./'.repeat(2050)}root`])
    expect([path, await pathTo(`${base}/${path}`)]).toEqual([path, undefined]);
  expect(await pathTo(deep)).toBeUndefined();
});

const allowed = async (rules: Partial<MountRules>, paths: string[], owner = 'alice') => {
  const volumes = paths.map((path, at) => ({ name: `v${at}`, path, readOnly: false }));
  const all = { volumeRoots: [], workspaceRoot: null, ...rules };
  const found = await allowedFolders(assignment({ volumes, owner }), all, (path) => openFolder('/', path));
  await closeFolders(found);
  return found.map(({ target, isRoot, folder: { path } }) => {
    return { target, isRoot, path: path.slice(base.length) };
  });
};

test('P111: a volume root and what lies beneath it may be mounted', async () => {
  const paths = [`${base}/volumes`, `${base}/volumes/data`];
  expect(await allowed({ volumeRoots: [`${base}/volumes`] }, paths)).toEqual([
    { target: '/mnt/v0', path: '/volumes', isRoot: true },
    { target: '/mnt/v1', path: '/volumes/data', isRoot: false },
  ]);
});
test('P111: a link out of the roots, a neighbour of a root and a missing folder are refused alike', async () => {
  await symlink(`${base}/outside`, `${base}/volumes/link`);
  await mkdir(`${base}/volumes2`);
  for (const one of ['volumes/link', 'volumes2', 'volumes/none', 'volumes/../outside']) {
    const path = `${base}/${one}`;
    const refused = failure('permanent', `volume v0: path not allowed: ${path} (it must exist beneath`);
    await expect(allowed({ volumeRoots: [`${base}/volumes`] }, [path])).rejects.toMatchObject(refused);
  }
});
test('P111: a root that lies in another root is ignored once it is a link', async () => {
  const rules = {
    volumeRoots: [`${base}/volumes`, `${base}/volumes/data`],
    workspaceRoot: `${base}/volumes/people`,
  };
  await mkdir(`${base}/volumes/people/alice`, { recursive: true });
  expect(await allowed(rules, [`${base}/volumes/data`])).toEqual([
    { target: '/mnt/v0', path: '/volumes/data', isRoot: false },
    { target: '/workspace', path: '/volumes/people/alice', isRoot: false },
  ]);
  for (const name of ['data', 'people']) {
    await rm(`${base}/volumes/${name}`, { recursive: true });
    await symlink(`${base}/outside`, `${base}/volumes/${name}`);
  }
  expect(await allowed(rules, [])).toEqual([]);
  await expect(allowed(rules, [`${base}/volumes/data`])).rejects.toThrow('path not allowed');
  await expect(allowed(rules, [`${base}/outside`])).rejects.toThrow('path not allowed');
});
test('H738, P111: the workspace is where the assignment has it, and no volume is at the same place', async () => {
  const rules = { volumeRoots: [`${base}/volumes`], workspaceRoot: `${base}/outside` };
  const at = (name: string) =>
    assignment({
      ...{ owner: 'alice', workspace: '/mnt/workspace' },
      volumes: [{ name, path: `${base}/volumes/data`, readOnly: false }],
    });
  const open = (path: string) => openFolder('/', path);
  const found = await allowedFolders(at('data'), rules, open);
  await closeFolders(found);
  expect(found.map(({ target }) => target)).toEqual(['/mnt/data', '/mnt/workspace']);
  await expect(allowedFolders(at('workspace'), rules, open)).rejects.toThrow(
    'volume workspace: /mnt/workspace is the workspace: give the volume another name',
  );
});
test('P331: a container without the folder of its owner has a remark, if the host has workspaces', () => {
  const remark = (workspaceRoot: string | null, targets: string[], changes: { workspace?: string } = {}) =>
    missingWorkspace(
      assignment({ owner: 'al', ...changes }),
      { workspaceRoot },
      targets.map((target) => ({ target })),
    );
  expect(remark('/data', [])).toContain(
    'There is no /workspace: this host has no workspace folder for user al',
  );
  expect(remark('/data', ['/workspace'], { workspace: '/mnt/workspace' })).toContain('no /mnt/workspace');
  expect([remark('/data', ['/workspace']), remark(null, [])]).toEqual([undefined, undefined]);
});
test('P111: the workspace is the folder of the owner, and of no other name', async () => {
  const rules = { workspaceRoot: `${base}/outside` };
  expect(await allowed(rules, [])).toEqual([{ target: '/workspace', path: '/outside/alice', isRoot: false }]);
  for (const owner of ['bob', '..', '.', '', 'alice/..', 'bob/../carol'])
    expect(await allowed(rules, [], owner)).toEqual([]);
  await symlink(`${base}/volumes`, `${base}/outside/carol`);
  expect(await allowed(rules, [], 'carol')).toEqual([]);
});
