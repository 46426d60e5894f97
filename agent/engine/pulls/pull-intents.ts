/**
 * Pull intents: the file that names the images whose pull with credentials has begun, so that an image which
 * arrives while no agent looks is not taken for a public one (P236). Has no credentials. Never looks at the
 * engine.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import * as z from 'zod';
import { type Logger, messageOf } from '../../logger.ts';
import { EngineError } from '../engine.ts';

/** A pull with credentials, from its begin until its image is marked. */
export interface PullIntent {
  image: string;
  /** Digest of the registry. */
  registry: string;
  /** Ids of the images that the engine had before it, and of those that are known to be public since. */
  before: Set<string>;
  /** When a pull ended whose outcome is unknown. Null while it runs. */
  endedMs: number | null;
}

export interface PullIntentsOptions {
  file: string;
  log: Logger;
  /** The wall clock. */
  nowMs(): number;
}

/** The engine's images at the start of the agent. */
export interface Present {
  /** Whether one has a mark of this deployment, so that there must have been a file. */
  hasMarks: boolean;
  /** Ids of those without a mark that came from a registry. */
  pulled: readonly string[];
}

const MAX_IDS = 20_000;
const ids = z.array(z.string()).max(MAX_IDS);
const fileSchema = z.object({
  engine: z.string(),
  pulls: z.array(z.object({ image: z.string(), registry: z.string(), before: ids })),
  suspects: ids,
});

export class PullIntents {
  readonly #options: PullIntentsOptions;
  readonly #engine: string;
  #all: PullIntent[] = [];
  /** Images that may have come with credentials, because the file was lost. */
  readonly #suspects = new Set<string>();

  constructor(options: PullIntentsOptions, engine: string, { hasMarks, pulled }: Present) {
    this.#options = options;
    this.#engine = engine;
    const found = read(options.file, engine);
    if (found === 'damaged' || (found === 'none' && hasMarks)) {
      options.log('pull-intents.lost', { file: options.file, images: pulled.length });
      for (const id of pulled) this.#suspects.add(id);
      this.#save();
    } else if (found !== 'none') {
      const endedMs = options.nowMs();
      this.#all = found.pulls.map((one) => ({ ...one, before: new Set(one.before), endedMs }));
      for (const id of found.suspects) if (pulled.includes(id)) this.#suspects.add(id);
    }
  }

  get all(): readonly PullIntent[] {
    return this.#all;
  }

  isSuspect(imageId: string): boolean {
    return this.#suspects.has(imageId);
  }

  /** Throws EngineError if it can't be written: the pull must not begin then. */
  begin(intent: PullIntent): void {
    const earlier = this.#all;
    const unknown = earlier.filter(({ image, endedMs }) => image === intent.image && endedMs !== null);
    // What an interrupted attempt has brought is still in doubt.
    for (const { before } of unknown)
      for (const id of intent.before) if (!before.has(id)) intent.before.delete(id);
    this.#all = [...earlier.filter((one) => !unknown.includes(one)), intent];
    try {
      this.#write();
    } catch (error) {
      this.#all = earlier;
      const reason = messageOf(error);
      throw new EngineError('temporary', `the pull can't be recorded in ${this.#options.file}: ${reason}`);
    }
  }

  end(intent: PullIntent): void {
    this.#all = this.#all.filter((one) => one !== intent);
    this.#save();
  }

  /** The image is public, or has a mark. */
  clear(imageId: string): void {
    const isDoubted = this.#all.some(({ before }) => !before.has(imageId)) || this.isSuspect(imageId);
    if (!isDoubted) return;
    for (const { before } of this.#all) before.add(imageId);
    this.#suspects.delete(imageId);
    this.#save();
  }

  /** A file that is out of date has too many doubts, which is safe. */
  #save(): void {
    try {
      this.#write();
    } catch (error) {
      this.#options.log('pull-intents.write-failed', { reason: messageOf(error) });
    }
  }

  #write(): void {
    const { file } = this.#options;
    const pulls = this.#all.map(({ image, registry, before }) => ({ image, registry, before: [...before] }));
    const text = JSON.stringify({ engine: this.#engine, pulls, suspects: [...this.#suspects] });
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(`${file}.new`, text, { flush: true, mode: 0o600 });
    renameSync(`${file}.new`, file);
  }
}

/** `none`: there is no file, or one of another engine. */
function read(file: string, engine: string): z.infer<typeof fileSchema> | 'none' | 'damaged' {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'none' : 'damaged';
  }
  try {
    const found = fileSchema.parse(JSON.parse(text));
    return found.engine === engine ? found : 'none';
  } catch {
    return 'damaged';
  }
}
