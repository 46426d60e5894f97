/**
 * Decides which host folders a container may mount: volumes beneath the roots in the agent's settings, and
 * the owner's workspace. Paths are resolved first, including symbolic links. Never creates a folder.
 */
import { realpath, stat } from 'node:fs/promises';
import { sep } from 'node:path';
import type { MountSettings } from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { EngineError } from '../engine.ts';
import { WORKSPACE } from './container-spec.ts';

export interface MountRules {
  volumeRoots: readonly string[];
  workspaceRoot: string | null;
}

/** Throws a permanent EngineError if a volume is not allowed or does not exist. */
export async function resolveMounts(assignment: Assignment, rules: MountRules): Promise<MountSettings[]> {
  const mounts: MountSettings[] = [];
  for (const { name, path, readOnly } of assignment.volumes) {
    if (!isPlainName(name)) throw volumeError(name, 'its name must be usable as the name of a folder');
    const source = await resolveVolume(name, path, rules.volumeRoots);
    mounts.push({ Type: 'bind', Source: source, Target: `/mnt/${name}`, ReadOnly: readOnly });
  }
  const workspace = await resolveWorkspace(assignment.owner, rules.workspaceRoot);
  if (workspace) mounts.push({ Type: 'bind', Source: workspace, Target: WORKSPACE, ReadOnly: false });
  return mounts;
}

async function resolveVolume(name: string, path: string, roots: readonly string[]): Promise<string> {
  const resolved = await resolve(path);
  for (const root of roots) {
    const resolvedRoot = await resolve(root);
    if (resolved && resolvedRoot && isBeneath(resolved, resolvedRoot)) return resolved;
  }
  // The message must not reveal which of the two applies: it would disclose what exists on the host.
  const remedy = 'it must exist beneath a folder in the BERTH_AGENT_VOLUME_ROOTS of the host';
  throw volumeError(name, `path not allowed: ${path} (${remedy})`);
}

/** A user without a folder has no workspace. The name is untrusted text. */
async function resolveWorkspace(owner: string, root: string | null): Promise<string | undefined> {
  if (root === null || !isPlainName(owner)) return undefined;
  const [folder, resolvedRoot] = await Promise.all([resolve(`${root}/${owner}`), resolve(root)]);
  if (!folder || !resolvedRoot || folder === resolvedRoot || !isBeneath(folder, resolvedRoot))
    return undefined;
  return (await stat(folder)).isDirectory() ? folder : undefined;
}

const isPlainName = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name);

const isBeneath = (path: string, root: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

const volumeError = (name: string, reason: string): EngineError =>
  new EngineError('permanent', `volume ${name}: ${reason}`);

async function resolve(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}
