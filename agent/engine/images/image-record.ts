/**
 * Image record: the file that names the images which this deployment pulled (P181). It is written before a
 * pull, so that a crash loses nothing. Never looks at the engine.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { type Logger, messageOf } from '../../logger.ts';
import { byUse, type RecordedImage } from './unused-images.ts';

export interface ImageRecordOptions {
  file: string;
  log: Logger;
  /** The wall clock. */
  nowMs(): number;
}

const recordSchema = z.object({
  /** The engine that has the images. */
  engine: z.string(),
  images: z.array(z.object({ image: z.string(), id: z.string().nullable(), usedMs: z.number() })),
});

/** Beyond it the least recently used image is struck off, and stays at the engine. */
export const MAX_RECORDED = 1000;
/** The times in the file may be out of date by this much. */
const WRITE_EVERY_MS = 3_600_000;

export class ImageRecord {
  readonly #options: ImageRecordOptions;
  readonly #engine: string;
  readonly #images = new Map<string, RecordedImage>();
  #writtenMs = Number.NEGATIVE_INFINITY;

  /** A record of another engine counts as empty, and so does one that cannot be read. */
  constructor(options: ImageRecordOptions, engine: string) {
    this.#options = options;
    this.#engine = engine;
    for (const image of read(options, engine)) this.#images.set(image.image, image);
  }

  all(): RecordedImage[] {
    return [...this.#images.values()];
  }

  get(image: string): RecordedImage | undefined {
    return this.#images.get(image);
  }

  /** False if it could not be written: the image must then not count as this deployment's. */
  put(image: string, id: string | null): boolean {
    this.#images.set(image, { image, id, usedMs: this.#options.nowMs() });
    if (this.#images.size > MAX_RECORDED) {
      const [oldest] = this.all().sort(byUse);
      if (oldest) this.#images.delete(oldest.image);
    }
    const isWritten = this.#write();
    if (!isWritten && id === null) this.#images.delete(image);
    return isWritten;
  }

  drop(images: readonly string[]): void {
    for (const image of images) this.#images.delete(image);
    if (images.length > 0) this.#write();
  }

  /** These are in use now. */
  used(images: readonly RecordedImage[]): void {
    const now = this.#options.nowMs();
    for (const image of images) image.usedMs = now;
    if (images.length > 0 && now - this.#writtenMs >= WRITE_EVERY_MS) this.#write();
  }

  /** A full disk must not end the agent. */
  #write(): boolean {
    const { file, log, nowMs } = this.#options;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      const text = JSON.stringify({ engine: this.#engine, images: this.all() });
      writeFileSync(`${file}.new`, text, { flush: true });
      renameSync(`${file}.new`, file);
      this.#writtenMs = nowMs();
      return true;
    } catch (error) {
      log('image-record.write-failed', { reason: messageOf(error) });
      return false;
    }
  }
}

function read({ file, log, nowMs }: ImageRecordOptions, engine: string): RecordedImage[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  try {
    const record = recordSchema.parse(JSON.parse(text));
    // The clock may have been set back.
    const images = record.images.map((one) => ({ ...one, usedMs: Math.min(one.usedMs, nowMs()) }));
    return record.engine === engine ? images.slice(0, MAX_RECORDED) : [];
  } catch (error) {
    log('image-record.damaged', { file, reason: messageOf(error) });
    return [];
  }
}
