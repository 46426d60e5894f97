/**
 * Reads and parses bodies so that large ones do not delay others: they take turns by address, and bodies that
 * are being read or wait share a bounded memory.
 */
import type { Context as HonoContext } from 'hono';
import type { FairQueue } from '../../shared/fair-queue.ts';
import { depthProblem } from '../../shared/json-depth.ts';
import { finish, type Steps, TURN_UNITS } from '../../shared/steps.ts';
import { networkOf } from '../core/accounts/network.ts';
import type { Limit } from '../core/metrics/limits.ts';
import { OperationError } from '../core/model/errors.ts';
import type { AddressOf } from './address.ts';
import { bodyBytes, declaredLength, decodedText, MAX_BODY_BYTES, spacedText } from './body-bytes.ts';
import { fairLine, type LineWords } from './fair-line.ts';

/** Set for requests of users: proves again who asks, since a client may hold its body back (ACC-12). */
export type BodyEnv = { Variables: { proveAgain?: () => Promise<void> } };

/** Larger bodies are parsed one at a time, in turns. */
const LARGE_BODY_BYTES = 64 * 1024;
/** Smaller bodies take no share of the memory: 5,000 connections need 40 MB for them. */
const SMALL_BODY_BYTES = 8 * 1024;
/** The part of the memory that one address may take. */
const ADDRESS_SHARE = 1 / 4;

const WAITING = { waiting: 1_000, waitingPerOwner: 100, waitMs: 15_000, lostMs: 120_000 };

const words = (what: string): LineWords => ({ whose: 'Your address has', what });

export interface BodyReaderOptions {
  addressOf: AddressOf;
  /** Bytes of the bodies that are read at a time, or that wait for their turn. */
  memoryBytes: number;
  /** Called with each body that has been read. */
  noteBody: (c: HonoContext, bytes: Uint8Array) => void;
  nowMs: () => number;
}

export class BodyReader {
  readonly #addressOf: AddressOf;
  readonly #noteBody: BodyReaderOptions['noteBody'];
  readonly #memory: FairQueue;
  readonly #memoryBytes: number;
  readonly #turns: FairQueue;

  constructor({ addressOf, memoryBytes, noteBody, nowMs }: BodyReaderOptions) {
    this.#addressOf = addressOf;
    this.#noteBody = noteBody;
    this.#memoryBytes = memoryBytes;
    const perOwner = Math.max(MAX_BODY_BYTES, memoryBytes * ADDRESS_SHARE);
    this.#memory = fairLine(words('bodies'), { ...WAITING, total: memoryBytes, perOwner }, nowMs);
    this.#turns = fairLine(words('large bodies'), { ...WAITING, total: 1, perOwner: 1 }, nowMs);
  }

  get limit(): Limit {
    const setting = 'BERTH_LIMITS.bodyMemoryBytes';
    return { name: 'bodies', setting, unit: 'bytes', used: this.#memory.used, limit: this.#memoryBytes };
  }

  /** The JSON of the body. */
  json(c: HonoContext): Promise<unknown> {
    return this.#read(c, jsonSteps);
  }

  /** What `steps` makes of the JSON of the body, which has that many bytes. */
  jsonInSteps<T>(c: HonoContext, steps: (value: unknown, bytes: number) => Steps<T>): Promise<T> {
    return this.#read(c, (bytes) => stepsOfJson(bytes, steps));
  }

  /** The fields of a URL-encoded form of at most `maxBytes`. */
  form(c: HonoContext, maxBytes: number): Promise<URLSearchParams> {
    return this.#read(c, (bytes) => formSteps(bytes, maxBytes));
  }

  /** Does work on a text of `length`, in turns if it is large. */
  async work<T>(c: HonoContext, length: number, steps: Steps<T>): Promise<T> {
    if (length <= LARGE_BODY_BYTES) return finish(steps);
    return this.#turns.run(() => finishInTurns(steps), this.#lineOf(c));
  }

  async #read<T>(c: HonoContext<BodyEnv>, parse: (bytes: Uint8Array) => Steps<T>): Promise<T> {
    const value = await this.#parsed(c, parse);
    await c.get('proveAgain')?.();
    return value;
  }

  async #parsed<T>(c: HonoContext, parse: (bytes: Uint8Array) => Steps<T>): Promise<T> {
    const length = declaredLength(c);
    if (length !== undefined && length <= SMALL_BODY_BYTES) return finish(parse(await this.#bytesOf(c)));
    const address = this.#lineOf(c);
    const read = async () => {
      const bytes = await this.#bytesOf(c);
      if (bytes.byteLength <= LARGE_BODY_BYTES) return finish(parse(bytes));
      return this.#turns.run(() => finishInTurns(parse(bytes)), address);
    };
    return this.#memory.run(read, address, length ?? MAX_BODY_BYTES);
  }

  async #bytesOf(c: HonoContext): Promise<Uint8Array> {
    const bytes = await bodyBytes(c);
    this.#noteBody(c, bytes);
    return bytes;
  }

  /** The address by which a request waits. */
  #lineOf(c: HonoContext): string {
    return networkOf(this.#addressOf(c) ?? '');
  }
}

/**
 * Not a generator within a method: V8 makes a hidden class for each such function, which keeps the request in
 * memory until the next full garbage collection.
 */
function* stepsOfJson<T>(bytes: Uint8Array, steps: (value: unknown, bytes: number) => Steps<T>): Steps<T> {
  return yield* steps(yield* jsonSteps(bytes), bytes.byteLength);
}

/** Does the work in turns, and lets everything run before each that has happened meanwhile. */
async function finishInTurns<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    for (let units = 0; units < TURN_UNITS; ) {
      const step = steps.next();
      if (step.done) return step.value;
      units += step.value;
    }
  }
}

/** More fields than any page has. A body holds hundreds of thousands, and reading those takes a second. */
const MAX_FIELDS = 5_000;

function* formSteps(bytes: Uint8Array, maxBytes: number): Steps<URLSearchParams> {
  if (bytes.byteLength > maxBytes)
    throw new OperationError(
      'too-large',
      `The form is larger than ${maxBytes} bytes. The API takes longer ones.`,
    );
  if (decodedText(bytes).split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    throw new OperationError('invalid', `The form has more than ${MAX_FIELDS} fields.`);
  const fields = new URLSearchParams(spacedText(bytes));
  // The page is made in another turn.
  yield TURN_UNITS;
  return fields;
}

/**
 * The JSON of a body after its depth was checked, whatever the content type. It may be URL-encoded, as the
 * reference clients send it.
 */
function* jsonSteps(bytes: Uint8Array): Steps<unknown> {
  const text = decodedText(bytes);
  const plain = parse(text);
  yield TURN_UNITS;
  if (!plain.error) return plain.value;
  const decoded = decode(bytes, text);
  if (decoded !== undefined) {
    const { value, error } = parse(decoded);
    yield TURN_UNITS;
    if (!error) return value;
  }
  if (text.trim() === '') throw new OperationError('invalid', 'The body is empty: it must be JSON.');
  throw new OperationError('invalid', `The body is not JSON${placeOf(plain.error)}.`);
}

function parse(text: string): { value?: unknown; error?: SyntaxError } {
  const problem = depthProblem(text);
  if (problem !== undefined) throw new OperationError('invalid', `The body ${problem}.`);
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof SyntaxError) return { error };
    throw error;
  }
}

/** Undefined if it is not URL-encoded. */
function decode(bytes: Uint8Array, text: string): string | undefined {
  if (!/[%+]/.test(text) && !text.endsWith('=')) return undefined;
  try {
    const decoded = decodeURIComponent(spacedText(bytes));
    return decoded.endsWith('=') ? decoded.slice(0, -1) : decoded;
  } catch {
    return undefined;
  }
}

/** Where the first error is, if the engine reports it: `: see line 3 column 5`. */
function placeOf({ message }: SyntaxError): string {
  const place = / in JSON at .*\((line \d+ column \d+)\)/.exec(message);
  return place ? `: see ${place[1]}` : '';
}
