/**
 * Unpacks archives of services, which may be hostile: nothing is written outside of the target, and no link
 * leads out of it. Links are made last, so that nothing is ever written through one.
 */
import { chmod, type FileHandle, link, mkdir, open, realpath, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { shown } from '../../shared/archives/tar-entry.ts';
import { type TreeEntry, type TreeItem, TreeReader } from '../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../shared/archives/tar-writer.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CopyReport } from './report.ts';

const OWN_RIGHTS = 0o700;

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
  readonly #links: TreeEntry[] = [];
  /** Folders that must not be written to once they are complete. */
  readonly #locked: { path: string; mode: number }[] = [];

  constructor(target: string, report: CopyReport) {
    this.#target = target;
    this.#report = report;
  }

  async take(item: TreeItem): Promise<void> {
    if (item instanceof Uint8Array) {
      await this.#file?.handle.writeFile(item);
      return;
    }
    await this.#complete();
    const path = this.#pathOf(item.names);
    if (item.kind === 'link') this.#links.push(item);
    else if (item.kind === 'folder') await this.#makeFolder(path, item.mode);
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
    for (const { names, path, target } of this.#links) {
      const parent = names.slice(0, -1);
      await mkdir(this.#pathOf(parent), { recursive: true, mode: OWN_RIGHTS });
      // Where names differ only in their case, a link may stand for the folder.
      const isReal = (await realpath(this.#pathOf(parent))) === join(root, ...parent);
      if (isReal) await symlink(target, this.#pathOf(names));
      else this.#report.leftOut(shown(path), 'lies within a link');
    }
    for (const { path, mode } of this.#locked.reverse()) await chmod(path, mode);
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

  async #makeFolder(path: string, mode: number): Promise<void> {
    await mkdir(path, { recursive: true, mode: OWN_RIGHTS });
    await chmod(path, mode | OWN_RIGHTS);
    if ((mode & OWN_RIGHTS) !== OWN_RIGHTS) this.#locked.push({ path, mode });
  }

  async #makeHardLink(path: string, { targetNames, path: name }: TreeEntry): Promise<void> {
    await link(this.#pathOf(targetNames), path).catch(() =>
      this.#report.leftOut(shown(name), 'is a hard link to something that was not copied'),
    );
  }

  #pathOf(names: readonly string[]): string {
    return join(this.#target, ...names);
  }
}
