/**
 * Unpacks archives of services, which may be hostile: nothing is written outside of the target, and no link
 * leads out of it. Links are made last, so that nothing is ever written through one.
 */
import { chmod, type FileHandle, link, mkdir, open, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shown, TarError } from '../../shared/archives/tar-entry.ts';
import { type TreeEntry, type TreeItem, TreeReader } from '../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../shared/archives/tar-writer.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CopyReport } from './report.ts';

const OWN_RIGHTS = 0o700;
/** What is kept until the archive ends. 100,000 links with usual names are within it. */
const MAX_KEPT_BYTES = 32 * 2 ** 20;
/** What a link or folder takes besides its characters, of which each takes two bytes at most. */
const KEPT_BYTES = 128;

interface Link {
  /** From the root of the archive. */
  place: string;
  target: string;
}

/** `target` must not exist, and nobody else may write to its folder. Throws TarError. */
export async function unpack(
  chunks: AsyncIterable<Uint8Array>,
  target: string,
  report: CopyReport,
): Promise<void> {
  const files = new Unpacking(target, report);
  try {
    const reader = new TreeReader(({ path }, reason) => report.leftOut(shown(path), reason));
    for await (const chunk of chunks) for (const item of reader.push(chunk)) await files.take(item);
    reader.end();
    await files.finish();
  } finally {
    await files.close();
  }
}

/** Writes the archive to the standard output, without what leads out of it. */
export async function passArchive(
  chunks: AsyncIterable<Uint8Array>,
  terminal: Terminal,
  report: CopyReport,
): Promise<void> {
  const reader = new TreeReader(({ path }, reason) => report.leftOut(shown(path), reason));
  let size = 0;
  for await (const chunk of chunks)
    for (const item of reader.push(chunk)) {
      if (item instanceof Uint8Array) {
        report.passed(item.length);
        await terminal.out(item);
        continue;
      }
      await terminal.out(paddingOf(size));
      size = item.size;
      await terminal.out(headerOf(item));
    }
  reader.end();
  await terminal.out(paddingOf(size));
  await terminal.out(endOfTar());
}

class Unpacking {
  readonly #target: string;
  readonly #report: CopyReport;
  #file: { handle: FileHandle; entry: TreeEntry } | undefined;
  readonly #links: Link[] = [];
  /** Folders that must not be written to once they are complete. */
  readonly #locked: { place: string; mode: number }[] = [];
  #keptBytes = 0;

  constructor(target: string, report: CopyReport) {
    this.#target = target;
    this.#report = report;
  }

  async take(item: TreeItem): Promise<void> {
    if (item instanceof Uint8Array) {
      this.#report.passed(item.length);
      await this.#file?.handle.writeFile(item);
      return;
    }
    await this.#complete();
    const place = item.names.join('/');
    const path = this.#pathOf(place);
    if (item.kind === 'link') this.#links.push({ place: this.#kept(place), target: this.#kept(item.target) });
    else if (item.kind === 'folder') await this.#makeFolder(place, item.mode);
    else {
      await mkdir(dirname(path), { recursive: true, mode: OWN_RIGHTS });
      if (item.kind === 'hard-link') await this.#makeHardLink(path, item);
      else this.#file = { handle: await open(path, 'wx', 0o600), entry: item };
    }
  }

  /** Makes the links, and sets the rights that would have stood in the way. */
  async finish(): Promise<void> {
    await this.#complete();
    const root = this.#links.length > 0 ? await realpath(this.#target) : '';
    for (const { place, target } of this.#links) {
      const parent = dirname(place);
      await mkdir(this.#pathOf(parent), { recursive: true, mode: OWN_RIGHTS });
      // Where names differ only in their case, a link may stand for the folder.
      const isReal = (await realpath(this.#pathOf(parent))) === join(root, parent);
      if (isReal) await symlink(target, this.#pathOf(place));
      else this.#report.leftOut(shown(place), 'lies within a link');
    }
    for (const { place, mode } of this.#locked.reverse()) await chmod(this.#pathOf(place), mode);
  }

  async close(): Promise<void> {
    await this.#file?.handle.close();
    this.#file = undefined;
  }

  /** The file is whole. */
  async #complete(): Promise<void> {
    if (!this.#file) return;
    const { handle, entry } = this.#file;
    await handle.chmod(entry.mode);
    await handle.utimes(entry.modified, entry.modified);
    await this.close();
  }

  async #makeFolder(place: string, mode: number): Promise<void> {
    const path = this.#pathOf(place);
    await mkdir(path, { recursive: true, mode: OWN_RIGHTS });
    await chmod(path, mode | OWN_RIGHTS);
    if ((mode & OWN_RIGHTS) !== OWN_RIGHTS) this.#locked.push({ place: this.#kept(place), mode });
  }

  async #makeHardLink(path: string, { targetNames, path: name }: TreeEntry): Promise<void> {
    await link(this.#pathOf(targetNames.join('/')), path).catch(() =>
      this.#report.leftOut(shown(name), 'is a hard link to something that was not copied'),
    );
  }

  /** Counts a text that is kept. Throws TarError if there are too many. */
  #kept(text: string): string {
    this.#keptBytes += KEPT_BYTES + 2 * text.length;
    if (this.#keptBytes > MAX_KEPT_BYTES)
      throw new TarError('the archive has too many links, or too many folders that are not to be written to');
    return text;
  }

  #pathOf = (place: string): string => join(this.#target, place);
}
