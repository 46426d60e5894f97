/** Reads Compose files, with the files of variables that they name. */
import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { MAX_BYTES } from './document.ts';
import { type Translation, translate } from './translate.ts';

/** Throws ComposeError for a file that can't be translated. `env`: the environment of the command. */
export function readCompose(path: string, env: NodeJS.ProcessEnv): Translation {
  const file = resolve(path);
  const text = readBounded(file);
  if (text === undefined) throw new Error(`${path}: no such file.`);
  return translate(text, {
    folder: dirname(file),
    environment: (name) => env[name],
    read: readBounded,
  });
}

/** The text of a file, in UTF-8; undefined if there is none. Throws for a file beyond the bound. */
function readBounded(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (let read = 1; read > 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null);
    if (length > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES / 1024} KiB.`);
    const text = bytes.subarray(0, length);
    if (!isUtf8(text)) throw new Error(`${path} is not text in UTF-8.`);
    return new TextDecoder().decode(text);
  } finally {
    closeSync(file);
  }
}
