/**
 * Host folders of containers: opens, mounts and releases them. What a container mounts is what was checked:
 * the agent pins the folder, or, where it can't, mounts only folders that no container can exchange.
 */
import { realpath, stat } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { EngineError } from '../engine.ts';
import {
  type AllowedFolder,
  allowedFolders,
  closeFolders,
  isBeneath,
  type MountRules,
  missingWorkspace,
} from './allowed-folders.ts';
import { type Folder, openFolder } from './open-folder.ts';
import { findPinnableRoot, type Labels, pinnedMount } from './pinning.ts';

const UNPINNED = `host folders can't be pinned, so those that another container could exchange are refused: ${
  process.platform === 'linux'
    ? 'give the agent the capability SYS_PTRACE, and if it runs as a container, the process ids of its host'
    : 'only agents on Linux can pin folders'
}`;

export class HostFolders {
  readonly #docker: Docker;
  readonly #rules: MountRules;
  readonly #labels: Labels;
  readonly #notService: Labels;
  /** One start at a time while folders can't be pinned, so that each start sees the mounts of the others. */
  readonly #unpinnedStarts = new FairQueue({ total: 1 });
  /** By id of a container that this agent has created and not yet started. */
  readonly #held = new Map<string, readonly AllowedFolder[]>();
  /** A proof and the removal of its remains never run at once. */
  readonly #proofs = new FairQueue({ total: 1 });
  #pinnableRoot: Promise<string | null> | undefined;
  #found: (problem: string | undefined) => void = () => {};

  /** `notService`: empty labels by which no container is a service's, whatever its image says (P151). */
  constructor(docker: Docker, rules: MountRules, labels: Labels, notService: Labels) {
    this.#docker = docker;
    this.#rules = rules;
    this.#labels = labels;
    this.#notService = notService;
  }

  /** `found` is called after each proof, with a problem if folders can't be pinned. */
  watch(found: (problem: string | undefined) => void): void {
    this.#found = found;
  }

  /** Opens the folders of an assignment. Throws a permanent EngineError if one is not allowed. */
  async open(assignment: Assignment): Promise<readonly AllowedFolder[]> {
    if (!this.mayMount(assignment)) return [];
    const root = await this.#root(assignment.image);
    return await allowedFolders(assignment, this.#rules, (path) => find(root, path));
  }

  mayMount({ volumes }: Assignment): boolean {
    return volumes.length > 0 || this.#rules.workspaceRoot !== null;
  }

  remarkOn(assignment: Assignment, folders: readonly AllowedFolder[]): string | undefined {
    return missingWorkspace(assignment, this.#rules, folders);
  }

  mountsOf(folders: readonly AllowedFolder[]): MountSettings[] {
    return folders.map(({ folder: { path, handle }, target, readOnly }) =>
      handle
        ? pinnedMount(handle, { target, readOnly }, this.#labels)
        : { Type: 'bind', Source: path, Target: target, ReadOnly: readOnly },
    );
  }

  /** Keeps the folders of a container open until it has started or is removed. */
  hold(id: string, folders: readonly AllowedFolder[]): void {
    this.#held.set(id, folders);
  }

  /**
   * False if another agent process created the container. Its folders are no longer open, and their names may
   * lead elsewhere by now.
   */
  holds(id: string): boolean {
    return this.#held.has(id);
  }

  /** Runs `start`, which starts the container, unless another container may exchange one of its folders. */
  async whileSafe(id: string, start: () => Promise<void>): Promise<void> {
    const unpinned = (this.#held.get(id) ?? []).filter(({ folder, isRoot }) => !folder.handle && !isRoot);
    if (unpinned.length === 0) return await start();
    await this.#unpinnedStarts.run(async () => {
      const writable = await this.#writableFolders(id);
      for (const one of unpinned) await refuseExchangeable(one, writable);
      await start();
    });
  }

  /** After a start whose result is unknown the folders stay open: the engine may still be mounting them. */
  async release(id: string): Promise<void> {
    const folders = this.#held.get(id) ?? [];
    this.#held.delete(id);
    await closeFolders(folders);
  }

  /** Proves again, at the next start, that folders can be pinned. */
  forgetProof(): void {
    this.#pinnableRoot = undefined;
  }

  /** Removes what an agent that was killed has left of its proof. */
  removeUnused(): Promise<void> {
    return this.#proofs.run(() => this.#removeUnused());
  }

  async #removeUnused(): Promise<void> {
    const label = Object.entries(this.#labels).map(([name, value]) => `${name}=${value}`);
    for (const { Id, Labels } of await this.#docker.listContainers({ all: true, filters: { label } })) {
      const isService = Object.keys(this.#notService).some((name) => Labels[name]);
      if (!isService) await this.#docker.getContainer(Id).remove({ v: true, force: true });
    }
    const { Volumes } = await this.#docker.listVolumes({ filters: { label, dangling: ['true'] } });
    for (const { Name } of Volumes ?? []) await this.#docker.getVolume(Name).remove();
  }

  #root(image: string): Promise<string | null> {
    this.#pinnableRoot ??= this.#proofs
      .run(() => findPinnableRoot(this.#docker, image, this.#labels, this.#notService))
      .then((root) => {
        this.#found(root === null ? UNPINNED : undefined);
        return root;
      })
      .catch((error: unknown) => {
        this.forgetProof();
        throw error;
      });
    return this.#pinnableRoot;
  }

  /** Folders of the host that any other container of the engine may write. */
  async #writableFolders(id: string): Promise<string[]> {
    const containers = await this.#docker.listContainers({ all: true });
    return containers
      .filter(({ Id }) => Id !== id)
      .flatMap(({ Mounts = [] }) => Mounts.filter(({ RW }) => RW).map(({ Source }) => Source));
  }
}

/** Without a pinnable root, a folder is only its path. */
async function find(root: string | null, path: string): Promise<Folder | undefined> {
  if (root !== null) return await openFolder(root, path);
  if (process.platform === 'linux') {
    const folder = await openFolder('/', path);
    await folder?.handle?.close();
    return folder && { ...folder, handle: undefined };
  }
  const resolved = await realpath(path).catch(() => undefined);
  if (resolved === undefined || !(await stat(resolved)).isDirectory()) return undefined;
  return { path: resolved, handle: undefined, linksIn: [] };
}

async function refuseExchangeable(
  { title, folder: { path } }: AllowedFolder,
  writable: readonly string[],
): Promise<void> {
  const parent = writable.find((source) => source !== path && isBeneath(path, source));
  if (parent !== undefined) {
    const remedy = `it must be mounted when no other container can write to ${parent}, or by an agent that can pin folders`;
    throw new EngineError('permanent', `${title}: a container could exchange the folder ${path}: ${remedy}`);
  }
  const now = await find(null, path);
  if (now?.path !== path)
    throw new EngineError('temporary', `${title}: the folder ${path} was exchanged before the start`);
}
