/**
 * Reads a tar archive of unknown origin as a stream: POSIX, with long names of pax and GNU tar. Holds one
 * block and one bounded header at a time, whatever the archive says of its sizes (PROTOCOL.md P268).
 */
import { shown, type TarEntry, TarError, type TarKind } from './tar-entry.ts';
import { decode } from './utf8.ts';

export const BLOCK_BYTES = 512;
/** Longest extended header: a path has 4,096 bytes at most. */
const MAX_HEADER_BYTES = 64 * 1024;
/** Extended headers before one entry. */
const MAX_HEADERS = 4;
/** GNU tar fills its last record of 10 KiB with zeros, and `tar -b` takes larger ones. */
const MAX_TRAILING_BYTES = 1024 * 1024;
const MAX_PATH_BYTES = 4_096;
const MAX_SECONDS = 2 ** 40;

const KINDS: Record<string, TarKind> = {
  '0': 'file',
  '7': 'file',
  '1': 'hard-link',
  '2': 'link',
  '5': 'folder',
};
const HEADERS: readonly string[] = ['x', 'g', 'L', 'K'];
/** Content of these does not follow as one piece (sparse files), or belongs to another archive. */
const UNREADABLE = /^GNU\.(sparse|volume|dumpdir)/;

/** What extended headers have said of the next entry. */
interface Extension {
  path?: string;
  target?: string;
  size?: number;
  modified?: number;
}

/** An entry, or a piece of the content of the entry before. */
export type TarItem = TarEntry | Uint8Array;

/** `more`: the next chunk is wanted; undefined is the end of the stream. */
type Parse<T> = Generator<TarItem | 'more', T, Uint8Array | undefined>;

/** Throws TarError if the archive is damaged, or uses what is not supported. */
export class TarReader {
  readonly #parse = parse();
  #isEnded = false;

  constructor() {
    this.#parse.next();
  }

  /** The items that a chunk completes. The caller takes all of them before the next chunk. */
  *push(chunk: Uint8Array): Generator<TarItem> {
    if (chunk.length > 0) yield* this.#run(chunk);
  }

  /** No more chunks follow. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const _ of this.#run(undefined));
  }

  *#run(input: Uint8Array | undefined): Generator<TarItem> {
    let step = this.#parse.next(input);
    for (; !step.done && step.value !== 'more'; step = this.#parse.next()) yield step.value;
  }
}

function* parse(): Parse<void> {
  const bytes = new ByteReader();
  let extension: Extension = {};
  let headers = 0;
  for (;;) {
    const block = yield* bytes.exactly(BLOCK_BYTES);
    if (block.every((byte) => byte === 0)) {
      if (headers > 0) throw new TarError('the archive ends after an extended header', true);
      yield* bytes.skipZeros(MAX_TRAILING_BYTES);
      return;
    }
    const type = typeOf(block);
    if (HEADERS.includes(type)) {
      const size = numberAt(block, 124, 12);
      headers += 1;
      if (size > MAX_HEADER_BYTES || headers > MAX_HEADERS)
        throw new TarError('the archive has an extended header that is too long');
      extend(extension, type, yield* bytes.exactly(size));
      yield* bytes.exactly(padding(size));
      continue;
    }
    const entry = entryOf(block, type, extension);
    extension = {};
    headers = 0;
    yield entry;
    yield* bytes.pieces(entry.size);
    yield* bytes.exactly(padding(entry.size));
  }
}

/** Bytes until the next block. */
export const padding = (size: number): number => (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES;

function typeOf(block: Uint8Array): string {
  let sum = 0;
  for (const [at, byte] of block.entries()) sum += at >= 148 && at < 156 ? 32 : byte;
  if (numberAt(block, 148, 8) !== sum) throw new TarError('this is not a tar archive, or it is damaged');
  const flag = block[156] ?? 0;
  return flag === 0 ? '0' : String.fromCharCode(flag);
}

function entryOf(block: Uint8Array, type: string, extension: Extension): TarEntry {
  const path = extension.path ?? pathOf(block);
  const kind = type === '0' && path.endsWith('/') ? 'folder' : (KINDS[type] ?? 'other');
  const size = extension.size ?? numberAt(block, 124, 12);
  if (path === '') throw new TarError('the archive has an entry without a name');
  if (kind !== 'file' && size > 0)
    throw new TarError(`the archive has content where none belongs, or a sparse file: ${shown(path)}`);
  return {
    kind,
    path,
    size,
    mode: numberAt(block, 100, 8) & 0o777,
    modified: extension.modified ?? numberAt(block, 136, 12),
    target: kind === 'link' || kind === 'hard-link' ? (extension.target ?? textAt(block, 157, 100)) : '',
  };
}

/** An archive cuts it anywhere if an extended header has the whole. */
function pathOf(block: Uint8Array): string {
  const name = textAt(block, 0, 100);
  // Only POSIX archives have a prefix; GNU tar has times there.
  const isPosix = textAt(block, 257, 6) === 'ustar' && block[263] === 0x30;
  const prefix = isPosix ? textAt(block, 345, 155) : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function extend(extension: Extension, type: string, content: Uint8Array): void {
  if (type === 'L') extension.path = pathIn(content);
  else if (type === 'K') extension.target = pathIn(content);
  else
    for (const [key, value] of recordsOf(content)) {
      if (UNREADABLE.test(key)) throw new TarError('the archive has a sparse file: pack it without --sparse');
      const isOwn = key === 'path' || key === 'linkpath' || key === 'size';
      if (isOwn && type === 'g') throw new TarError(`the archive sets the ${key} of all its entries`);
      if (key === 'path') extension.path = pathIn(value);
      else if (key === 'linkpath') extension.target = pathIn(value);
      else if (key === 'size') extension.size = wholeNumber(textOf(value));
      else if (key === 'mtime' && type === 'x') extension.modified = seconds(textOf(value));
    }
}

/** Each is its own length in digits, a blank, a key, an equals sign, a value and a line feed. */
function* recordsOf(content: Uint8Array): Generator<[string, Uint8Array]> {
  for (let at = 0; at < content.length; ) {
    const blank = content.indexOf(0x20, at);
    const length = blank === -1 ? 0 : wholeNumber(textOf(content.subarray(at, blank)));
    const equals = content.indexOf(0x3d, blank);
    const end = at + length;
    if (equals === -1 || equals >= end || end > content.length || content[end - 1] !== 0x0a)
      throw new TarError('the archive has a damaged extended header');
    yield [textOf(content.subarray(blank + 1, equals)), content.subarray(equals + 1, end - 1)];
    at = end;
  }
}

/** Some archivers end it with a zero. */
function pathIn(content: Uint8Array): string {
  const end = content.at(-1) === 0 ? content.indexOf(0) : content.length;
  if (end > MAX_PATH_BYTES) throw new TarError('the archive has a path that is too long');
  return textOf(content.subarray(0, end));
}

function textAt(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length);
  const end = field.indexOf(0);
  return textOf(end === -1 ? field : field.subarray(0, end));
}

function textOf(bytes: Uint8Array): string {
  const text = decode(bytes);
  if (text === undefined) throw new TarError('the archive has a name that is not UTF-8');
  return text;
}

/** Octal digits, or a binary number with the highest bit set, as for files of 8 GiB and more. */
function numberAt(block: Uint8Array, at: number, length: number): number {
  const field = block.subarray(at, at + length);
  if (((field[0] ?? 0) & 0x80) === 0) {
    const text = String.fromCharCode(...field)
      .replace(/[\0 ]+$/, '')
      .trimStart();
    if (!/^[0-7]*$/.test(text)) throw new TarError('this is not a tar archive, or it is damaged');
    return text === '' ? 0 : Number.parseInt(text, 8);
  }
  // Times before 1970 are negative.
  if (field[0] === 0xff) return at === 136 ? 0 : wholeNumber('-');
  return wholeNumber(
    String(field.reduce((sum, byte, place) => sum * 256 + (place === 0 ? byte & 0x7f : byte), 0)),
  );
}

function wholeNumber(text: string): number {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(number)) return number;
  throw new TarError('the archive has a size that is no number');
}

const seconds = (text: string): number => {
  const number = Number(text);
  return Number.isFinite(number) ? Math.trunc(Math.min(MAX_SECONDS, Math.max(0, number))) : 0;
};

/** Takes bytes off the chunks. */
class ByteReader {
  #chunk: Uint8Array = new Uint8Array(0);

  *exactly(length: number): Parse<Uint8Array> {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; ) {
      const piece = yield* this.#some(length - at);
      bytes.set(piece, at);
      at += piece.length;
    }
    return bytes;
  }

  /** Yields them as they come, together `length` bytes. */
  *pieces(length: number): Parse<void> {
    for (let left = length; left > 0; ) {
      const piece = yield* this.#some(left);
      left -= piece.length;
      yield piece;
    }
  }

  /** Up to the end of the stream. */
  *skipZeros(most: number): Parse<void> {
    let chunk: Uint8Array | undefined = this.#chunk;
    for (let left = most; chunk; chunk = yield 'more') {
      left -= chunk.length;
      if (left < 0 || chunk.some((byte) => byte !== 0))
        throw new TarError('the archive has something after its end');
    }
  }

  /** One byte or more. */
  *#some(most: number): Parse<Uint8Array> {
    while (this.#chunk.length === 0) {
      const chunk = yield 'more';
      if (!chunk) throw new TarError('the archive ends early', true);
      this.#chunk = chunk;
    }
    const piece = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(piece.length);
    return piece;
  }
}
