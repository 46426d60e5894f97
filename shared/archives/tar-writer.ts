/** Writes tar archives: POSIX headers, with an extended header for what they have no room for. */
import type { TarEntry, TarKind } from './tar-entry.ts';
import { BLOCK_BYTES, padding } from './tar-reader.ts';
import { encode } from './utf8.ts';

const FLAGS: Record<TarKind, string> = { file: '0', 'hard-link': '1', link: '2', folder: '5', other: '6' };
const MAX_OCTAL = 0o77777777777;

/** The header of an entry. Its content follows, and then `paddingOf`. Owner and group are 0. */
export function headerOf({ kind, path, mode, modified, size, target }: TarEntry): Uint8Array {
  const named = kind === 'folder' && !path.endsWith('/') ? `${path}/` : path;
  const records = [
    ...record('path', named, encode(named).length > 100),
    ...record('linkpath', target, encode(target).length > 100),
    ...record('size', String(size), size > MAX_OCTAL),
    ...record('mtime', String(modified), modified > MAX_OCTAL),
  ];
  const block = blockOf(FLAGS[kind], named, target, { mode, size, modified });
  if (records.length === 0) return block;
  const text = encode(records.join(''));
  const extended = blockOf('x', 'extended', '', { mode: 0o644, size: text.length, modified: 0 });
  return joined([extended, text, paddingOf(text.length), block]);
}

/** What follows `size` bytes of content. */
export const paddingOf = (size: number): Uint8Array => new Uint8Array(padding(size));

/** What ends an archive. */
export const endOfTar = (): Uint8Array => new Uint8Array(2 * BLOCK_BYTES);

function blockOf(
  flag: string,
  path: string,
  target: string,
  { mode, size, modified }: { mode: number; size: number; modified: number },
): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  const put = (at: number, bytes: Uint8Array, length: number) => block.set(bytes.subarray(0, length), at);
  const octal = (at: number, number: number, digits: number) =>
    put(at, encode(Math.min(number, MAX_OCTAL).toString(8).padStart(digits, '0')), digits);
  put(0, encode(path), 100);
  octal(100, mode, 7);
  octal(108, 0, 7);
  octal(116, 0, 7);
  octal(124, size, 11);
  octal(136, modified, 11);
  put(148, encode(' '.repeat(8)), 8);
  put(156, encode(flag), 1);
  put(157, encode(target), 100);
  put(257, encode('ustar\x0000'), 8);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(148, encode(`${sum.toString(8).padStart(6, '0')}\0 `), 8);
  return block;
}

/** A record has its own length in front, which counts itself. */
function record(key: string, value: string, isNeeded: boolean): string[] {
  if (!isNeeded) return [];
  const rest = ` ${key}=${value}\n`;
  const bytes = encode(rest).length;
  let length = bytes + 1;
  while (String(length).length + bytes > length) length += 1;
  return [`${length}${rest}`];
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
