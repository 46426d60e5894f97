/**
 * Files of services with secret contents: in a folder of the agent's own on a file system in memory, from
 * which the engine mounts them. They go with the container, and never reach a disk (P224).
 */
import { chmod, lstat, mkdir, open, readdir, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { StartSecrets } from '../../../shared/protocol/secrets.ts';
import { EngineError, type MountedFile } from '../engine.ts';

/** Types of file systems in memory: tmpfs and ramfs. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);
/** Only the agent's user reaches the folder. Every user of the container may read the file. */
const [FOLDER_MODE, FILE_MODE] = [0o700, 0o444];

export class SecretFiles {
  readonly #folder: string | undefined;
  readonly #found: (problem: string | undefined) => void;
  /** Whether `found` was last called with what is wrong with the folder itself, which may be repaired. */
  #isFolderWrong = false;

  /**
   * `folder`: of this agent alone. Undefined: the engine is on another machine, and mounts none. `found` is
   * called with what prevents files of any service, or with undefined once files have been mounted.
   */
  constructor(folder: string | undefined, found: (problem: string | undefined) => void = () => {}) {
    this.#folder = folder;
    this.#found = found;
  }

  /** Looks at the folder, or where it would be, before any service needs it. Makes nothing. */
  async check(): Promise<void> {
    const reason = this.#folder && (await faultOf(this.#folder));
    if (reason !== undefined) this.#folderProblem(reason);
    else if (this.#isFolderWrong) this.mounted();
  }

  /** The engine has mounted files. */
  mounted(): void {
    this.#isFolderWrong = false;
    this.#found(undefined);
  }

  /** The engine does not find the files: the agent is in a container, and its folder is not the host's. */
  notMounted(): EngineError {
    this.#isFolderWrong = false;
    return this.#problem(
      `the engine does not find the files that the agent writes to ${this.#folder}: ${REMEDY}`,
    );
  }

  /** Writes the files of a start, in place of earlier ones. Throws EngineError with the remedy. */
  async write(key: ServiceKey, files: StartSecrets['files']): Promise<MountedFile[]> {
    if (files.length === 0) return [];
    const folder = this.#folderOf(key);
    if (folder === undefined) throw this.#problem(ELSEWHERE);
    try {
      await this.remove(key);
      await this.#make(folder);
      return await Promise.all(
        files.map(({ path, content }, at) => writeFile(join(folder, String(at)), path, content)),
      );
    } catch (error) {
      if (error instanceof EngineError) throw error;
      await this.remove(key).catch(() => {});
      throw new EngineError('temporary', `its files can't be written: ${String(error)}`, error);
    }
  }

  /** Removes the files of a start, if there are any. */
  async remove(key: ServiceKey): Promise<void> {
    const folder = this.#folderOf(key);
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  /** Removes the files of all other starts: a crash may have left them, or somebody removed the container. */
  async retain(isKept: (key: ServiceKey) => boolean): Promise<void> {
    if (this.#folder === undefined) return;
    const names = await readdir(this.#folder).catch(() => []);
    for (const name of names) {
      const [service = Number.NaN, generation = Number.NaN] = name.split('.').map(Number);
      if (!isKept({ service, generation }))
        await rm(join(this.#folder, name), { recursive: true, force: true });
    }
  }

  #folderOf({ service, generation }: ServiceKey): string | undefined {
    return this.#folder && join(this.#folder, `${service}.${generation}`);
  }

  /** Makes the folder of a start. What others could have put in its place is refused. */
  async #make(folder: string): Promise<void> {
    const own = String(this.#folder);
    await mkdir(own, { recursive: true, mode: FOLDER_MODE });
    const reason = await faultOf(own);
    if (reason !== undefined) throw this.#folderProblem(reason);
    await chmod(own, FOLDER_MODE);
    await mkdir(folder, { mode: FOLDER_MODE });
  }

  #folderProblem(reason: string): EngineError {
    this.#isFolderWrong = true;
    return this.#problem(`${reason}: ${REMEDY}`);
  }

  /** Another host, or this one once it is repaired, may start the service (C342). */
  #problem(reason: string): EngineError {
    const message = `this host mounts no files with secrets, because ${reason}`;
    this.#found(message);
    return new EngineError('temporary', message);
  }
}

const ELSEWHERE =
  'its engine is on another machine: use secrets in the environment, or hosts with an engine of their own';
const REMEDY =
  'set BERTH_AGENT_SECRETS_DIR to a folder of a tmpfs of the host, such as /run/berth; an agent in a container ' +
  'needs that folder of the host at the same path, by -v /run/berth:/run/berth';

/** What is wrong with the folder, or with the closest one above it that exists; undefined if nothing is. */
async function faultOf(folder: string): Promise<string | undefined> {
  const found = await lstat(folder).catch(() => undefined);
  if (found && !(found.isDirectory() && found.uid === process.getuid?.()))
    return `${folder} belongs to somebody else, who must remove it`;
  for (let at = folder; ; at = dirname(at)) {
    const system = await statfs(at).catch(() => undefined);
    if (system && !IN_MEMORY.has(system.type)) return `${folder} is not on a file system in memory`;
    if (system || at === '/') return undefined;
  }
}

/** Creates the file, and returns its mount. */
async function writeFile(source: string, target: string, content: string): Promise<MountedFile> {
  const file = await open(source, 'wx', FILE_MODE);
  try {
    await file.writeFile(Buffer.from(content, 'base64'));
    // Whatever the process's umask is.
    await file.chmod(FILE_MODE);
  } finally {
    await file.close();
  }
  return { source, target };
}
