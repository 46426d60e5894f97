/**
 * Contexts for `docker build`, as compressed tar archives that depend on nothing but the files in them: no
 * times, no owners, and modes only as far as a file is executable.
 */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { type Pack, pack } from 'tar-stream';

export interface ContextFile {
  /** That of a folder ends with a slash. */
  name: string;
  content: Uint8Array;
  isExecutable?: boolean;
}

/** The time of files in packages of npm. */
const MTIME = new Date('1985-10-26T08:15:00Z');

/** Writes the files in the order given, which must be the same each time. */
export async function writeContext(
  path: string,
  files: Iterable<ContextFile> | AsyncIterable<ContextFile>,
): Promise<void> {
  const tar = pack();
  const written = pipeline(tar, createGzip(), createWriteStream(path));
  for await (const file of files) await add(tar, file);
  tar.finalize();
  await written;
}

const add = (tar: Pack, { name, content, isExecutable = false }: ContextFile): Promise<void> =>
  new Promise((done, fail) => {
    const type = name.endsWith('/') ? 'directory' : 'file';
    const mode = isExecutable || type === 'directory' ? 0o755 : 0o644;
    tar.entry({ name, type, mode, mtime: MTIME }, Buffer.from(content), (error) =>
      error ? fail(error) : done(),
    );
  });
