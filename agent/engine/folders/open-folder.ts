/**
 * Opens a folder of the engine's host one component at a time, each in the very folder that was opened
 * before. A link or an exchange on the way therefore never leads past what was seen. Linux only.
 */
import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { EngineError } from '../engine.ts';

/** A folder at the moment when it was opened. */
export interface Folder {
  /** Its path on the host, without links. */
  path: string;
  /** Keeps the folder itself, wherever its path leads later. Undefined if the folder is not pinned. */
  handle: FileHandle | undefined;
  /** The folders in which a link was followed on the way. */
  linksIn: readonly string[];
}

/** Opens a folder without any right to read it. Node has no name for this flag of Linux. */
const O_PATH = 0o10000000;
const STEP = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** The kernel's own limits for one path. */
const MAX_LINKS = 40;
const MAX_PATH_LENGTH = 4096;
/** Each folder on the way is open meanwhile. */
const MAX_DEPTH = 100;
/** A component that is a link at one look and a folder at the next is looked at again so often. */
const MAX_CHANGES = 3;

interface Step {
  name: string;
  handle: FileHandle;
}

/**
 * Opens the folder at an absolute path beneath `root`, the root folder of the engine's host as this process
 * sees it. Undefined if there is no such folder. Throws a temporary EngineError if it changes meanwhile.
 */
export async function openFolder(root: string, path: string): Promise<Folder | undefined> {
  if (path.length > MAX_PATH_LENGTH) return undefined;
  const way: Step[] = [{ name: '', handle: await open(root, O_PATH | constants.O_DIRECTORY) }];
  try {
    const linksIn = await walk(way, path);
    if (!linksIn) return undefined;
    const found = pathOf(way);
    const last = way.pop();
    return { path: found, handle: last?.handle, linksIn };
  } finally {
    for (const { handle } of way) await handle.close();
  }
}

/** Extends `way` along the path. Returns the folders whose links were followed; undefined: no such path. */
async function walk(way: Step[], path: string): Promise<string[] | undefined> {
  const linksIn: string[] = [];
  const rest = components(path);
  for (let name = rest.pop(); name !== undefined; name = rest.pop()) {
    if (name === '..') {
      if (way.length > 1) await way.pop()?.handle.close();
      continue;
    }
    const last = way.at(-1);
    const next = last && way.length <= MAX_DEPTH ? await step(last.handle, name) : undefined;
    if (next === undefined) return undefined;
    if (typeof next !== 'string') {
      way.push({ name, handle: next });
      continue;
    }
    linksIn.push(pathOf(way));
    if (linksIn.length > MAX_LINKS || next.length > MAX_PATH_LENGTH) return undefined;
    if (next.startsWith('/')) for (const { handle } of way.splice(1)) await handle.close();
    rest.push(...components(next));
  }
  return linksIn;
}

/** Opens a folder in a folder, or returns the target of a link. Undefined if it is neither. */
async function step(parent: FileHandle, name: string): Promise<FileHandle | string | undefined> {
  const at = `/proc/self/fd/${parent.fd}/${name}`;
  for (let change = 0; change < MAX_CHANGES; change += 1) {
    const folder = await open(at, STEP).catch(codeOf);
    if (typeof folder !== 'string') return folder;
    if (folder !== 'ENOTDIR' && folder !== 'ELOOP') return undefined;
    const target = await readlink(at).catch((error: unknown) => ({ code: codeOf(error) }));
    if (typeof target === 'string') return target;
    // EINVAL: a file, or a folder by now.
    if (target.code !== 'EINVAL') return undefined;
    if (await isFile(at)) return undefined;
  }
  throw new EngineError('temporary', `a folder on the way to a volume is being exchanged: ${name}`);
}

async function isFile(path: string): Promise<boolean> {
  const handle = await open(path, O_PATH | constants.O_NOFOLLOW).catch(() => undefined);
  if (!handle) return false;
  const stats = await handle.stat();
  await handle.close();
  return !stats.isDirectory() && !stats.isSymbolicLink();
}

/** In the order of a stack. */
const components = (path: string): string[] =>
  path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .reverse();

const pathOf = (way: readonly Step[]): string => way.map(({ name }) => name).join('/') || '/';

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);
