/**
 * Decides which host folders a container may mount: volumes beneath the roots in the agent's settings, and
 * the owner's workspace. Never creates a folder.
 */
import { sep } from 'node:path';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { EngineError } from '../engine.ts';
import type { Folder } from './open-folder.ts';

export interface MountRules {
  volumeRoots: readonly string[];
  workspaceRoot: string | null;
}

/** A folder that the container may mount. The caller closes its handle. */
export interface AllowedFolder {
  /** What it is to people: `volume data`, for example. */
  title: string;
  folder: Folder;
  /** Mount point in the container. */
  target: string;
  readOnly: boolean;
  /** True if it is a volume root itself, and not beneath one. */
  isRoot: boolean;
}

/** Finds a folder by a path of settings or of a description. Undefined if there is none. */
export type FindFolder = (path: string) => Promise<Folder | undefined>;

/** Where the container has the workspace of its owner. */
export const workspaceOf = ({ workspace = '/workspace' }: Pick<Assignment, 'workspace'>): string => workspace;

/** Throws a permanent EngineError if a volume is not allowed or does not exist. */
export async function allowedFolders(
  assignment: Assignment,
  rules: MountRules,
  find: FindFolder,
): Promise<AllowedFolder[]> {
  const { volumes, owner } = assignment;
  const allowed: AllowedFolder[] = [];
  try {
    const roots = await findRoots(rules, find);
    for (const { name, path, readOnly } of volumes) {
      if (!isPlainName(name)) throw volumeError(name, 'its name must be usable as the name of a folder');
      const folder = await find(path);
      const mount = { title: `volume ${name}`, target: `/mnt/${name}`, readOnly };
      if (folder) allowed.push({ ...mount, folder, isRoot: isOutermost(folder.path, roots.volumes) });
      if (folder && roots.volumes.some((root) => isBeneath(folder.path, root))) continue;
      // The message must not reveal which of the two applies: it would disclose what exists on the host.
      const remedy = 'it must exist beneath a folder in the BERTH_AGENT_VOLUME_ROOTS of the host';
      throw volumeError(name, `path not allowed: ${path} (${remedy})`);
    }
    const workspace = await findWorkspace(owner, roots.workspace, find);
    const target = workspaceOf(assignment);
    if (workspace)
      allowed.push({ title: 'the workspace', target, readOnly: false, isRoot: false, folder: workspace });
    const taken = volumes.find(({ name }) => workspace && `/mnt/${name}` === target);
    if (taken) throw volumeError(taken.name, `${target} is the workspace: give the volume another name`);
    return allowed;
  } catch (error) {
    await closeFolders(allowed);
    throw error;
  }
}

/** What the owner of a container should know that has no workspace where others have one (P331). */
export function missingWorkspace(
  assignment: Pick<Assignment, 'owner' | 'workspace'>,
  { workspaceRoot }: Pick<MountRules, 'workspaceRoot'>,
  folders: readonly Pick<AllowedFolder, 'target'>[],
): string | undefined {
  const place = workspaceOf(assignment);
  if (workspaceRoot === null || folders.some(({ target }) => target === place)) return undefined;
  return `There is no ${place}: this host has no workspace folder for user ${assignment.owner}. What is written there is lost with the container.`;
}

export async function closeFolders(folders: readonly AllowedFolder[]): Promise<void> {
  await Promise.all(folders.map(({ folder }) => folder.handle?.close()));
}

export const isBeneath = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

const isOutermost = (path: string, roots: readonly string[]): boolean =>
  roots.includes(path) && !roots.some((root) => root !== path && isBeneath(path, root));

/**
 * Paths of the roots. A root is ignored if a link within another root leads to it, because containers may
 * have made that link.
 */
async function findRoots(
  { volumeRoots, workspaceRoot }: MountRules,
  find: FindFolder,
): Promise<{ volumes: string[]; workspace: string | undefined }> {
  const found = new Map<string, Folder>();
  for (const root of new Set([...volumeRoots, ...(workspaceRoot === null ? [] : [workspaceRoot])])) {
    const folder = await find(root);
    await folder?.handle?.close();
    if (folder) found.set(root, folder);
  }
  const isTrusted = ({ path, linksIn }: Folder) =>
    ![...found.values()].some(
      (other) => other.path !== path && linksIn.some((one) => isBeneath(one, other.path)),
    );
  const pathOf = (root: string): string | undefined => {
    const folder = found.get(root);
    return folder && isTrusted(folder) ? folder.path : undefined;
  };
  return {
    volumes: volumeRoots.flatMap((root) => pathOf(root) ?? []),
    workspace: workspaceRoot === null ? undefined : pathOf(workspaceRoot),
  };
}

/** A user without a folder has no workspace. The name is untrusted text. */
async function findWorkspace(
  owner: string,
  root: string | undefined,
  find: FindFolder,
): Promise<Folder | undefined> {
  if (root === undefined || !isPlainName(owner)) return undefined;
  const folder = await find(`${root}/${owner}`);
  if (!folder || (folder.path !== root && isBeneath(folder.path, root))) return folder;
  await folder.handle?.close();
  return undefined;
}

const isPlainName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);

const volumeError = (name: string, reason: string): EngineError =>
  new EngineError('permanent', `volume ${name}: ${reason}`);
