/**
 * Copies a file or a folder into a container, as the target of a stream (P266). The container gets an archive
 * that the agent has written: entries that lead out, devices and setuid bits of the client's never reach it.
 */
import type { TarEntry } from '../../../shared/archives/tar-entry.ts';
import { TarError } from '../../../shared/archives/tar-entry.ts';
import { refuseEntry, TreeReader } from '../../../shared/archives/tar-tree.ts';
import { endOfTar, headerOf, paddingOf } from '../../../shared/archives/tar-writer.ts';
import type { FilesIn } from '../../../shared/streams/targets.ts';
import { itemsOf } from './archive-items.ts';
import { CopyCommand, type RunCommand } from './copy-command.ts';
import { inWords } from './copy-scripts.ts';
import type { Piece, Target } from './target.ts';

/** Names in the container's temporary folder. */
const ROOT = 'x';
const COMPLETE = 'complete';

/** How long the container may take to remove a copy that has broken off. */
const CLEANUP_MS = 10_000;

const plain = { kind: 'file', mode: 0o644, target: '' } as const;

/** Throws an Error for people. */
export async function copyIn(
  run: RunCommand,
  { path, name, bytes }: FilesIn,
  mounts: readonly string[],
  nowMs: number,
): Promise<Target> {
  const target = await run(inWords(path, name, mounts));
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const input = writable.getWriter();
  const modified = Math.trunc(nowMs / 1000);
  const content = bytes === undefined ? unpacked(readable) : single(readable, bytes, modified);
  return {
    output: carry(target, completed(content, modified)),
    write: (chunk) => input.write(chunk).catch(() => {}),
    end: () => void input.close().catch(() => {}),
    exitCode: async () => 0,
    resize: () => {},
    signal: () => {},
    destroy: () => {
      void input.abort().catch(() => {});
      // Without the last entry the script removes what it has made, unless a signal ends it first.
      target.end();
      setTimeout(() => target.destroy(), CLEANUP_MS).unref();
    },
  };
}

/** Ends once the files have their names. Throws an Error for people. */
async function* carry(target: Target, content: AsyncIterable<Uint8Array>): AsyncGenerator<Piece> {
  const command = new CopyCommand(target);
  let isOver = false;
  const feed = async () => {
    for await (const part of content) {
      if (isOver) return;
      await target.write(part);
    }
    target.end();
  };
  const done = async () => {
    for await (const _ of command.output());
    isOver = true;
    await command.assertDone();
  };
  const ended = done();
  // A command that has ended takes nothing more, and a bad archive ends the command with the stream.
  await Promise.race([ended, feed().then(() => ended)]);
}

/** The archive of the client, with names of this file's. */
async function* unpacked(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const one of itemsOf(new TreeReader(refuseEntry), archive)) {
    if (one instanceof Uint8Array) {
      yield one;
      continue;
    }
    yield paddingOf(size);
    size = one.size;
    const target = one.kind === 'hard-link' ? [ROOT, ...one.targetNames].join('/') : one.target;
    yield headerOf({ ...one, path: [ROOT, ...one.names].join('/'), target });
  }
  yield paddingOf(size);
}

/** A file of so many bytes. */
async function* single(
  content: AsyncIterable<Uint8Array>,
  size: number,
  modified: number,
): AsyncGenerator<Uint8Array> {
  yield headerOf({ ...plain, path: ROOT, size, modified });
  let left = size;
  for await (const part of content) {
    left -= part.length;
    if (left < 0) throw new TarError(`the file has more than the ${size} bytes that were announced`);
    yield part;
  }
  if (left > 0) throw new TarError(`the file ended ${left} bytes early`);
  yield paddingOf(size);
}

/** Only an archive that was read to its end is followed by what completes the copy. */
async function* completed(content: AsyncIterable<Uint8Array>, modified: number): AsyncGenerator<Uint8Array> {
  yield* content;
  const marker: TarEntry = { ...plain, path: COMPLETE, size: 0, modified };
  yield headerOf(marker);
  yield endOfTar();
}
