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
export const MAX_ALIASES = 200;
/** Uses of a value, with those of the values within it: itself, and its aliases. */
const MAX_USES = MAX_ALIASES + 1;
/** Characters of all texts and keys, and one for each value, with aliases and variables. */
export const MAX_EXPANDED = 1 << 20;

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
  const preparation = new Preparation(lines, lookUp);
  const { remarks } = preparation;
  preparation.placeOf.root = document.contents;
  preparation.prepare(document.contents, []);
  remarks.assertNone();
  return { value: expanded(() => document.toJS({ maxAliasCount: MAX_USES })), remarks };
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

/** Throws ComposeError if the values are too many with their aliases, however few lines the file has. */
function expanded(make: () => unknown): unknown {
  let value: unknown;
  let size = 0;
  try {
    value = make();
    size = sizeOf(value, new Map());
  } catch (error) {
    assertBound(false, `has aliases that can't be followed: ${(error as Error).message}`);
  }
  assertBound(size <= MAX_EXPANDED, `has more than ${MAX_EXPANDED} characters with its aliases`);
  return value;
}

/** Values that several aliases share are visited once, and counted each time. */
function sizeOf(value: unknown, known: Map<object, number>): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  const before = known.get(value);
  if (before !== undefined) return before;
  // A value within itself.
  known.set(value, Number.POSITIVE_INFINITY);
  let size = 1;
  for (const [key, one] of Object.entries(value)) size += key.length + sizeOf(one, known);
  known.set(value, size);
  return size;
}

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

/** One walk through the nodes, in which each anchor is visited once. */
class Preparation {
  readonly remarks: Remarks;
  readonly placeOf: Places;
  readonly #lookUp: LookUp;
  readonly #pairs = new Map<YAMLMap, Map<string, Pair>>();
  readonly #anchors = new Set<string>();
  #aliases = 0;
  #filledIn = 0;

  constructor(lines: LineCounter, lookUp: LookUp) {
    this.#lookUp = lookUp;
    this.placeOf = new Places(lines, this.#pairs);
    this.remarks = new Remarks((path) => this.placeOf.of(path));
  }

  prepare(node: unknown, path: Path, isLiteral = false): void {
    if (isNode(node) && !isAlias(node) && node.anchor !== undefined) this.#anchors.add(node.anchor);
    if (isMap(node)) this.#map(node, path, isLiteral);
    else if (isSeq(node))
      for (const [at, item] of node.items.entries()) this.prepare(item, [...path, at], isLiteral);
    else if (isAlias(node)) this.#alias(node, path);
    else if (isScalar(node) && !isLiteral) this.#scalar(node, path);
  }

  #alias({ source }: Alias, path: Path): void {
    this.#aliases += 1;
    if (this.#aliases === MAX_ALIASES + 1)
      this.remarks.problem(path, `is alias ${MAX_ALIASES + 1}: use fewer`);
    if (!this.#anchors.has(source))
      this.remarks.problem(
        path,
        `has the alias ${source}, whose anchor is not above it: write &${source} there`,
      );
  }

  #map(node: YAMLMap, path: Path, isLiteral: boolean): void {
    const pairs = new Map<string, Pair>();
    this.#pairs.set(node, pairs);
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
      this.prepare(pair.value, inner, isLiteral || key === EXTENSION);
    }
  }

  #scalar(node: Scalar, path: Path): void {
    if (typeof node.value === 'number' || typeof node.value === 'bigint')
      node.value = node.source ?? String(node.value);
    if (typeof node.value !== 'string') return;
    try {
      const { text, unset } = interpolate(node.value, this.#lookUp);
      for (const name of unset)
        this.remarks.note(path, `has ${name}, which is not set: it became an empty text`);
      this.#filledIn += text === node.value ? 0 : text.length;
      assertBound(
        this.#filledIn <= MAX_EXPANDED,
        `has more than ${MAX_EXPANDED} characters with its variables`,
      );
      node.value = text;
    } catch (error) {
      if (error instanceof ComposeError) throw error;
      this.remarks.problem(path, (error as Error).message);
    }
  }
}
