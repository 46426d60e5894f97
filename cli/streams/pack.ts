/** Packs files of this machine, or a tar archive from the standard input, for a service. */
import type { Stats } from 'node:fs';
import { lstat, open, readdir, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shown, staysInside, type TarEntry, type TarKind } from '../../shared/archives/tar-entry.ts';
import { type TreeItem, TreeReader } from '../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../shared/archives/tar-writer.ts';
import type { Terminal } from '../terminal/terminal.ts';
import type { CopyReport } from './report.ts';

const ROOT = 'x';
const READ_BYTES = 64 * 1024;

/** An archive of one file or folder. A link at `path` itself is followed. */
export async function* packFiles(path: string, report: CopyReport): AsyncGenerator<Uint8Array> {
  yield* packOne(path, [], await stat(path), report);
  yield endOfTar();
}

async function* packOne(
  path: string,
  names: readonly string[],
  info: Stats,
  report: CopyReport,
): AsyncGenerator<Uint8Array> {
  const header = (kind: TarKind, size = 0, target = '') =>
    headerOf({ ...entryOf(names, info), kind, size, target });
  if (info.isFile()) yield* packFile(path, (size) => header('file', size), report);
  else if (info.isSymbolicLink()) {
    const target = await readlink(path);
    if (staysInside(target, names.length - 1)) yield header('link', 0, target);
    else report.leftOut(shown(path), `is a link that leads out of what is copied: ${shown(target)}`);
  } else if (!info.isDirectory()) report.leftOut(shown(path), 'is not a file, folder or link');
  else {
    yield header('folder');
    for (const name of (await readdir(path)).sort()) {
      const inner = join(path, name);
      yield* packOne(inner, [...names, name], await lstat(inner), report);
    }
  }
}

function entryOf(
  names: readonly string[],
  { mode, mtimeMs }: Stats,
): Omit<TarEntry, 'kind' | 'size' | 'target'> {
  const modified = Math.max(0, Math.trunc(mtimeMs / 1_000));
  return { path: [ROOT, ...names].join('/'), mode: mode & 0o777, modified };
}

/** What is appended meanwhile is not copied. Throws if the file gets shorter. */
async function* packFile(
  path: string,
  header: (size: number) => Uint8Array,
  report: CopyReport,
): AsyncGenerator<Uint8Array> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    yield header(size);
    for (let at = 0; at < size; ) {
      const { bytesRead, buffer } = await file.read(
        Buffer.alloc(Math.min(READ_BYTES, size - at)),
        0,
        null,
        at,
      );
      if (bytesRead === 0) throw new Error(`${shown(path)} became shorter while it was read.`);
      at += bytesRead;
      report.passed(bytesRead);
      yield buffer.subarray(0, bytesRead);
    }
    yield paddingOf(size);
  } finally {
    await file.close();
  }
}

/** The archive of the standard input, and the name of its root. Throws TarError. */
export async function packInput(
  terminal: Terminal,
  report: CopyReport,
): Promise<{ name: string; archive: AsyncIterable<Uint8Array> }> {
  const reader = new TreeReader(({ path }, reason) => report.leftOut(shown(path), reason));
  const items = itemsOf(reader, inputOf(terminal));
  const { value: root } = await items.next();
  if (!root || root instanceof Uint8Array) throw new Error('The archive is empty.');
  const name = root.path.split('/').findLast((one) => one !== '' && one !== '.') ?? 'files';
  return { name, archive: repacked(root, items, report) };
}

async function* repacked(
  root: TreeItem,
  items: AsyncIterable<TreeItem>,
  report: CopyReport,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  const part = function* (item: TreeItem): Generator<Uint8Array> {
    if (item instanceof Uint8Array) {
      report.passed(item.length);
      return yield item;
    }
    yield paddingOf(size);
    size = item.size;
    const target = item.kind === 'hard-link' ? [ROOT, ...item.targetNames].join('/') : item.target;
    yield headerOf({ ...item, path: [ROOT, ...item.names].join('/'), target });
  };
  yield* part(root);
  for await (const item of items) yield* part(item);
  yield paddingOf(size);
  yield endOfTar();
}

async function* itemsOf(
  reader: TreeReader,
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<TreeItem, undefined> {
  for await (const chunk of chunks) yield* reader.push(chunk);
  reader.end();
  return undefined;
}

/** The standard input, read no faster than it is taken. */
async function* inputOf(terminal: Terminal): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const end = terminal.passInput(
    (bytes) => writer.write(bytes).catch(() => {}),
    () => void writer.close().catch(() => {}),
    false,
  );
  try {
    yield* readable;
  } finally {
    end();
  }
}
