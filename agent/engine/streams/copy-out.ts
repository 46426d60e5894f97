/** Copies a file or a folder out of a container, as the target of a stream (P265). */
import { shown, TarError } from '../../../shared/archives/tar-entry.ts';
import { TarReader } from '../../../shared/archives/tar-reader.ts';
import { type TreeEntry, TreeReader } from '../../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../../shared/archives/tar-writer.ts';
import type { FilesOut } from '../../../shared/streams/targets.ts';
import { itemsOf } from './archive-items.ts';
import { CopyCommand, type RunCommand } from './copy-command.ts';
import { baseOf, outWords } from './copy-scripts.ts';
import type { Piece, Target } from './target.ts';

/** Throws an Error for people. */
export async function copyOut(
  run: RunCommand,
  { path, form }: FilesOut,
  mounts: readonly string[],
): Promise<Target> {
  const target = await run(outWords(path, mounts));
  target.end();
  const command = new CopyCommand(target);
  const content =
    form === 'tar' ? packed(command.output(), baseOf(path) || 'files') : single(command.output());
  return {
    output: checked(content, command),
    write: async () => {},
    end: () => {},
    exitCode: async () => 0,
    resize: () => {},
    signal: () => {},
    destroy: () => target.destroy(),
  };
}

/** What the command itself reports goes before what is wrong with its archive. */
async function* checked(content: AsyncIterable<Uint8Array>, command: CopyCommand): AsyncGenerator<Piece> {
  try {
    for await (const bytes of content) yield { bytes };
  } catch (error) {
    if (error instanceof TarError) await command.assertDone();
    throw error;
  }
  await command.assertDone();
}

/** The same archive in a form that each reader understands alike. Links stay as they are (P267). */
async function* packed(archive: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Uint8Array> {
  let root: string | undefined;
  let size = 0;
  for await (const one of itemsOf(new TarReader(), archive)) {
    if (one instanceof Uint8Array) {
      yield one;
      continue;
    }
    yield paddingOf(size);
    size = 0;
    if (one.kind === 'other') continue;
    root ??= one.path.replace(/\/$/, '');
    const named = (path: string) => `${name}${path.slice((root ?? '').length)}`;
    size = one.size;
    yield headerOf({
      ...one,
      path: named(one.path),
      target: one.kind === 'hard-link' ? named(one.target) : one.target,
    });
  }
  yield paddingOf(size);
  yield endOfTar();
}

/** The content of the one file. */
async function* single(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const refuse = ({ path }: TreeEntry) => {
    throw new Error(`${shown(path)} is no file`);
  };
  for await (const one of itemsOf(new TreeReader(refuse), archive)) {
    if (one instanceof Uint8Array) yield one;
    else if (one.kind !== 'file') throw new Error(`${shown(one.path)} is a folder; berth cp copies folders`);
  }
}
