/**
 * Reads YAML into plain values whose places in the text are known: bounded, without duplicate keys, and with
 * variables filled in. Numbers are texts as they are written, since most of them stand for one. Pure.
 */
import {
  type Alias,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
} from 'yaml';
import { ComposeError, type Path, type Place, Remarks } from './remarks.ts';
import { interpolate, type LookUp } from './variables/interpolation.ts';

/** The size of the text. Real files have a few KiB. */
export const MAX_BYTES = 256 * 1024;
/** Characters of all texts and keys, and one for each value, with aliases, merge keys and variables. */
const MAX_EXPANDED = 1 << 20;

/** Its values are as they are: neither filled in nor turned into texts. */
export const EXTENSION = 'x-berth';

export interface ComposeDocument {
  value: unknown;
  remarks: Remarks;
}

/** Throws ComposeError for a text that is not one YAML document within the bounds. */
export function readDocument(text: string, lookUp: LookUp): ComposeDocument {
  assertBound(text.length <= MAX_BYTES, `has more than ${MAX_BYTES / 1024} KiB: divide the application`);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    merge: true,
    // The library compares each key with all others: `Preparation` needs one step for each.
    uniqueKeys: false,
    prettyErrors: false,
  });
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) {
    const { line, col } = lines.linePos(problem.pos[0]);
    throw new ComposeError([{ path: '', line, column: col, message: wordsOf(problem) }]);
  }
  const values = new Values(lines, lookUp);
  const { remarks } = values;
  values.placeOf.root = document.contents;
  const { value, size } = values.of(document.contents, []);
  remarks.assertNone();
  assertSize(size);
  return { value, remarks };
}

function wordsOf({ code, message }: { code: string; message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'has a second document: submit each as a file of its own';
  if (code === 'RESOURCE_EXHAUSTION') return 'has too many lists and mappings within each other';
  if (code === 'TAG_RESOLVE_FAILED') return `has a tag, which Berth does not know: ${message}`;
  return `is not YAML: ${message}`;
}

function assertBound(holds: boolean, message: string): asserts holds {
  if (!holds) throw new ComposeError([{ path: '', line: 1, column: 1, message }]);
}

const assertSize = (size: number): void =>
  assertBound(size <= MAX_EXPANDED, `has more than ${MAX_EXPANDED} characters with its aliases`);

/** Finds the place of a path, or of the nearest value above it. */
class Places {
  root: Node | null = null;
  readonly #lines: LineCounter;
  readonly #pairs: ReadonlyMap<YAMLMap, ReadonlyMap<string, Pair>>;

  constructor(lines: LineCounter, pairs: ReadonlyMap<YAMLMap, ReadonlyMap<string, Pair>>) {
    this.#lines = lines;
    this.#pairs = pairs;
  }

  of(path: Path): Place {
    let node: unknown = this.root;
    let offset = offsetOf(node) ?? 0;
    for (const part of path) {
      const pair = isMap(node) ? this.#pairs.get(node)?.get(String(part)) : undefined;
      if (pair) node = pair.value;
      else if (isSeq(node) && typeof part === 'number') node = node.items[part];
      else break;
      offset = offsetOf(pair ? pair.key : node) ?? offset;
    }
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

const offsetOf = (node: unknown): number | undefined => (node as Node | null | undefined)?.range?.[0];

/** A value, and its size as part of `MAX_EXPANDED`. Aliases share it; its size counts for each of them. */
interface Sized {
  value: unknown;
  size: number;
  /** What a mapping has, by key. */
  entries?: ReadonlyMap<string, Sized>;
  /** What a list has. */
  items?: readonly Sized[];
}

const one = (value: unknown): Sized => ({ value, size: typeof value === 'string' ? value.length + 1 : 1 });

/** Makes the values in one walk through the nodes, which visits each anchor once. */
class Values {
  readonly remarks: Remarks;
  readonly placeOf: Places;
  readonly #lookUp: LookUp;
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>();
  /** Undefined while the walk is within the value. */
  readonly #anchors = new Map<string, Sized | undefined>();
  #filledIn = 0;
  #merged = 0;

  constructor(lines: LineCounter, lookUp: LookUp) {
    this.#lookUp = lookUp;
    this.placeOf = new Places(lines, this.#pairs);
    this.remarks = new Remarks((path) => this.placeOf.of(path));
  }

  of(node: unknown, path: Path, isLiteral = false): Sized {
    if (isAlias(node)) return this.#alias(node, path);
    const anchor = isNode(node) ? node.anchor : undefined;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const made = this.#made(node, path, isLiteral);
    if (anchor !== undefined) this.#anchors.set(anchor, made);
    return made;
  }

  #made(node: unknown, path: Path, isLiteral: boolean): Sized {
    if (isMap(node)) return this.#map(node, path, isLiteral);
    if (isSeq(node)) {
      const items = node.items.map((item, at) => this.of(item, [...path, at], isLiteral));
      const size = items.reduce((sum, { size }) => sum + size, 1);
      return { value: items.map(({ value }) => value), size, items };
    }
    return one(isScalar(node) ? this.#scalar(node, path, isLiteral) : null);
  }

  #alias({ source }: Alias, path: Path): Sized {
    const found = this.#anchors.get(source);
    if (found) return found;
    this.remarks.problem(
      path,
      this.#anchors.has(source)
        ? `has the alias ${source} within the value of that name: remove it`
        : `has the alias ${source}, whose anchor is not above it: write &${source} there`,
    );
    return one(null);
  }

  #map(node: YAMLMap, path: Path, isLiteral: boolean): Sized {
    const pairs = new Map<string, Pair>();
    this.#pairs.set(node, pairs);
    const entries = new Map<string, Sized>();
    for (const pair of node.items) {
      const key = isScalar(pair.key) ? String((pair.key as Scalar).source ?? pair.key.value) : undefined;
      if (key === undefined) {
        this.remarks.problem(path, 'has a key that is not a text');
        continue;
      }
      const inner = [...path, key];
      const isRepeated = pairs.has(key);
      pairs.set(key, pair);
      if (isRepeated) this.remarks.problem(inner, 'is there twice: remove one');
      const made = this.of(pair.value, inner, isLiteral || key === EXTENSION);
      // The library marks the key `<<` by a symbol, unless it is quoted.
      if (typeof (pair.key as Scalar).value === 'symbol')
        for (const source of this.#sources(made, inner)) this.#merge(source, entries);
      else entries.set(key, made);
    }
    let size = 1;
    for (const [key, made] of entries) size += key.length + made.size;
    return { value: Object.fromEntries([...entries].map(([key, { value }]) => [key, value])), size, entries };
  }

  /** The mappings that a merge key names, one or several. */
  #sources(made: Sized, path: Path): readonly Sized[] {
    const sources = made.items ?? [made];
    if (sources.every(({ entries }) => entries)) return sources;
    this.remarks.problem(path, 'must be a mapping, or a list of mappings');
    return [];
  }

  /** Adds the entries whose keys are not there. Each that is looked at counts, which bounds the work. */
  #merge(source: Sized, entries: Map<string, Sized>): void {
    for (const [key, made] of source.entries ?? []) {
      this.#merged += key.length + 1;
      assertSize(this.#merged);
      if (!entries.has(key)) entries.set(key, made);
    }
  }

  #scalar(node: Scalar, path: Path, isLiteral: boolean): unknown {
    const { value, source } = node;
    if (isLiteral) return value;
    if (typeof value === 'number' || typeof value === 'bigint')
      return this.#filled(source ?? String(value), path);
    return typeof value === 'string' ? this.#filled(value, path) : value;
  }

  #filled(given: string, path: Path): string {
    try {
      const { text, unset } = interpolate(given, this.#lookUp);
      for (const name of unset)
        this.remarks.note(path, `has ${name}, which is not set: it became an empty text`);
      this.#filledIn += text === given ? 0 : text.length;
      assertBound(
        this.#filledIn <= MAX_EXPANDED,
        `has more than ${MAX_EXPANDED} characters with its variables`,
      );
      return text;
    } catch (error) {
      if (error instanceof ComposeError) throw error;
      this.remarks.problem(path, (error as Error).message);
      return given;
    }
  }
}
