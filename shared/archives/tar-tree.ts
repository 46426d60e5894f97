/**
 * Reads a tar archive with one root, a file or a folder, and shows which of its entries could lead out of it
 * (PROTOCOL.md P267). No entry passes through a link of the archive.
 */
import { namesOf, shown, staysInside, type TarEntry, TarError } from './tar-entry.ts';
import { TarLinks } from './tar-links.ts';
import { TarReader } from './tar-reader.ts';

export interface TreeEntry extends TarEntry {
  /** The way from the root; empty for the root itself. */
  names: string[];
  /** That of the file which a hard link names. */
  targetNames: string[];
}

/** An entry, or a piece of the content of the entry before. */
export type TreeItem = TreeEntry | Uint8Array;

/** Throws TarError if the archive is damaged, or if an entry is not beneath the root. */
export class TreeReader {
  readonly #reader = new TarReader();
  readonly #leaveOut: (entry: TreeEntry, reason: string) => void;
  #tree: Tree | undefined;
  #isTaken = false;

  /**
   * `leaveOut` is called for a link that leads out and for what is neither a file, a folder nor a link, with
   * the reason. It may throw.
   */
  constructor(leaveOut: (entry: TreeEntry, reason: string) => void) {
    this.#leaveOut = leaveOut;
  }

  /** The items that a chunk completes, the root first. The caller takes all of them before the next chunk. */
  *push(chunk: Uint8Array): Generator<TreeItem> {
    for (const one of this.#reader.push(chunk))
      if (!(one instanceof Uint8Array)) yield* this.#judge(one);
      else if (this.#isTaken) yield one;
  }

  /** No more chunks follow. */
  end(): void {
    this.#reader.end();
    if (!this.#tree) throw new TarError('the archive is empty', true);
  }

  *#judge(one: TarEntry): Generator<TreeEntry> {
    this.#tree ??= new Tree(one);
    const entry = this.#tree.place(one);
    const problem = this.#tree.problemOf(entry);
    this.#isTaken = problem === undefined;
    if (problem === undefined) yield entry;
    else this.#leaveOut(entry, problem);
  }
}

/** Throws an error that names the entry: what TreeReader may be given where nothing may be left out. */
export function refuseEntry({ path }: TarEntry, reason: string): never {
  throw new TarError(`${shown(path)} ${reason}`);
}

class Tree {
  readonly #root: readonly string[];
  readonly #rootKind: TarEntry['kind'];
  readonly #links = new TarLinks();
  #hasRoot = false;

  constructor({ path, kind }: TarEntry) {
    this.#root = namesOf(path);
    this.#rootKind = kind;
    if (this.#root.length > 1 || (kind !== 'file' && kind !== 'folder'))
      throw new TarError('the archive must begin with the one file or folder that it has');
  }

  place(entry: TarEntry): TreeEntry {
    const names = this.#beneath(entry.path);
    if (!names || (names.length === 0 && this.#hasRoot) || (names.length > 0 && this.#rootKind === 'file'))
      throw new TarError(`the archive has more than one file or folder: ${shown(entry.path)}`);
    this.#hasRoot = true;
    if ((this.#links.firstOn(names) ?? names.length) < names.length)
      throw new TarError(`the archive has an entry within a link: ${shown(entry.path)}`);
    if (entry.kind === 'link') this.#links.add(names);
    const targetNames = entry.kind === 'hard-link' ? (this.#beneath(entry.target) ?? []) : [];
    return { ...entry, names, targetNames };
  }

  problemOf({ kind, names, target, targetNames }: TreeEntry): string | undefined {
    if (kind === 'other') return 'is no file, folder or link';
    if (kind === 'link' && !staysInside(target, names.length - 1))
      return `is a link that leads out of what is copied: ${shown(target)}`;
    const isToFile = targetNames.length > 0 && this.#links.firstOn(targetNames) === undefined;
    if (kind === 'hard-link' && !isToFile)
      return 'is a hard link to something else than a file of the archive';
    return undefined;
  }

  /** Undefined if it is elsewhere. */
  #beneath(path: string): string[] | undefined {
    const names = namesOf(path);
    return this.#root.every((name, at) => names[at] === name) ? names.slice(this.#root.length) : undefined;
  }
}
