/**
 * Entries of tar archives, and what an archive from an untrusted source may name. An archive here has one
 * root, a file or a folder, and every other entry lies beneath it (PROTOCOL.md P267).
 */

/** `link`: symbolic. `other`: a device, a pipe, or what other archivers have besides. */
export type TarKind = 'file' | 'folder' | 'link' | 'hard-link' | 'other';

export interface TarEntry {
  kind: TarKind;
  /** As in the archive. */
  path: string;
  /** Permissions only: never setuid, setgid or sticky. */
  mode: number;
  /** In seconds since the epoch. */
  modified: number;
  /** Bytes that follow. 0 unless `kind` is `file`. */
  size: number;
  /** Where a link of either kind leads. */
  target: string;
}

/** Why an archive is refused. The message names entries as JSON strings, so that no name moves a cursor. */
export class TarError extends Error {
  override name = 'TarError';
  /** True if the archive ends before it should. */
  readonly isTruncated: boolean;

  constructor(message: string, isTruncated = false) {
    super(message);
    this.isTruncated = isTruncated;
  }
}

const MAX_NAME_BYTES = 255;
const MAX_DEPTH = 512;

/** The names on the way to an entry, without `.`. Throws TarError if they lead out of the archive. */
export function namesOf(path: string): string[] {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const isUnsafe = path.startsWith('/') || names.includes('..') || names.some(isUnusable);
  if (isUnsafe || names.length > MAX_DEPTH)
    throw new TarError(`the archive has an entry that leads out of it or has no usable name: ${shown(path)}`);
  return names;
}

/**
 * Whether a symbolic link leads to a place beneath the root, whatever other links of that kind are on the
 * way. `..` may only come first: after a name, that name could be a link to a shallower folder. `depth`:
 * folders between the root and the link.
 */
export function staysInside(target: string, depth: number): boolean {
  if (target === '' || target.startsWith('/') || target.includes('\0')) return false;
  if (leadsUpOnWindows(target)) return false;
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const ups = names.findIndex((name) => name !== '..');
  const count = ups === -1 ? names.length : ups;
  return count <= depth && !names.slice(count).includes('..');
}

/** For messages: without control characters, and not too long. */
export const shown = (text: string): string =>
  JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}...` : text).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    '?',
  );

/** Windows takes a backslash for a slash. */
const isUnusable = (name: string): boolean =>
  name.includes('\0') || name.length > MAX_NAME_BYTES || leadsUpOnWindows(name);

const leadsUpOnWindows = (text: string): boolean => text.includes('\\') && text.split(/[\\/]/).includes('..');
