/** Copies a file or a folder out of a container, as the target of a stream (P265). */
import { shown, TarError } from '../../../shared/archives/tar-entry.ts';
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
  { path, form, links }: FilesOut,
  mounts: readonly string[],
): Promise<Target> {
  const target = await run(outWords(path, mounts));
  target.end();
  const command = new CopyCommand(target);
  const content =
    form === 'tar'
      ? packed(command.output(), baseOf(path) || 'files', links === 'all')
      : single(command.output());
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

/**
 * The same archive in a form that each reader understands alike. The container may have chosen every byte of
 * it, so it is refused unless each entry lies beneath the root and none within a link (P267).
 */
async function* packed(
  archive: AsyncIterable<Uint8Array>,
  name: string,
  allLinks: boolean,
): AsyncGenerator<Uint8Array> {
  const rooted = (names: readonly string[]) => [name, ...names].join('/');
  const header = (one: TreeEntry) => {
    const target = one.targetNames.length > 0 ? rooted(one.targetNames) : one.target;
    return headerOf({ ...one, path: rooted(one.names), target });
  };
  const outward: TreeEntry[] = [];
  const leaveOut = (one: TreeEntry) => {
    if (allLinks && one.kind !== 'other') outward.push(one);
  };
  let size = 0;
  for await (const one of itemsOf(new TreeReader(leaveOut), archive)) {
    if (one instanceof Uint8Array) {
      yield one;
      continue;
    }
    yield paddingOf(size);
    size = one.size;
    for (const link of outward.splice(0)) yield header(link);
    yield header(one);
  }
  yield paddingOf(size);
  for (const link of outward) yield header(link);
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
