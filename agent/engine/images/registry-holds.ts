/**
 * Registries that have refused a pull because of too many requests, and how long each is left alone (P304).
 * The engine does not pass on when a registry may be asked again, so the agent asks the registry.
 */
import { isLoopback } from '../../../shared/streams/masks.ts';
import { EngineError } from '../engine.ts';
import { canonicalName, repositoryOf } from './image-name.ts';
import { firstSentence } from './pull-error.ts';
import { HUB, registryOf } from './registry-auth.ts';

/** What the engine reports of such a registry. Some answer with 403 and words of their own. */
const LIMITED = /\btoomanyrequests\b|too many requests|\brate limit|\bHTTP 429\b|\bstatus(?: code)?:? 429\b/i;

export const isRateLimited = (message: string): boolean => LIMITED.test(message);

/** Without a time of the registry's: from the second refusal on, doubled with each. */
const FIRST_MS = 30_000;
const MAX_DOUBLED_MS = 600_000;
const MAX_MS = 3_600_000;
/** Beyond it the hold that began first is dropped. */
const MAX_HOLDS = 1_000;
const TIMEOUT_MS = 5_000;

interface Hold {
  untilMs: number;
  refusals: number;
  reason: string;
}

/** `key`: a registry, and the credentials for it, since limits are of addresses or of accounts. */
export class RegistryHolds {
  readonly #holds = new Map<string, Hold>();
  readonly #uptimeMs: () => number;

  constructor(uptimeMs: () => number) {
    this.#uptimeMs = uptimeMs;
  }

  /** Throws EngineError while the registry must not be asked. */
  assertFree(key: string, image: string): void {
    const hold = this.#holds.get(key);
    if (hold && hold.untilMs > this.#uptimeMs()) throw this.#error(image, hold);
  }

  /** The registry has refused a pull. `waitMs`: the time that it has stated. */
  refused(key: string, image: string, message: string, waitMs: number | undefined): EngineError {
    const now = this.#uptimeMs();
    const before = this.#holds.get(key);
    // Pulls that were under way at the refusal count as one.
    const refusals = (before?.refusals ?? 0) + (before && before.untilMs > now ? 0 : 1);
    const doubledMs =
      refusals === 1 ? 0 : Math.min(MAX_DOUBLED_MS, FIRST_MS * 2 ** Math.min(refusals - 2, 16));
    const untilMs = now + Math.min(MAX_MS, waitMs ?? doubledMs);
    const hold = { untilMs, refusals, reason: reasonOf(message) };
    this.#holds.delete(key);
    this.#holds.set(key, hold);
    const [oldest] = this.#holds.keys();
    if (this.#holds.size > MAX_HOLDS && oldest !== undefined) this.#holds.delete(oldest);
    return this.#error(image, hold);
  }

  /** The registry has answered a pull. */
  answered(key: string): void {
    this.#holds.delete(key);
  }

  #error(image: string, { untilMs, reason }: Hold): EngineError {
    const name = registryOf(image);
    const registry = name === HUB ? 'docker.io' : name;
    const seconds = Math.ceil((untilMs - this.#uptimeMs()) / 1_000);
    const again =
      seconds > 0 ? `it is asked again in ${seconds} s at the earliest` : 'the start is tried again';
    return new EngineError(
      'temporary',
      `pulling ${image}: ${reason} (the registry ${registry} limits how often this host pulls; ${again}, and credentials that raise the limit are set with \`berth registry set ${registry}\`)`,
    );
  }
}

/** The engine's words, unless they name something else than the limit. */
function reasonOf(message: string): string {
  const sentence = firstSentence(message);
  return isRateLimited(sentence) && !/does not exist/.test(sentence)
    ? sentence
    : 'the pull rate limit of its registry is exceeded';
}

/** When the registry may be asked for an image again. Undefined if it does not state that. */
export async function requestRetryAfter(image: string): Promise<number | undefined> {
  const registry = registryOf(image);
  const host = registry === HUB ? 'registry-1.docker.io' : registry;
  const name = canonicalName(image);
  const repository = repositoryOf(name);
  const reference = name.slice(repository.length + 1);
  const path = registry === HUB ? hubPath(repository) : repository.slice(registry.length + 1);
  const isHere = isLoopback(host.replace(/:\d+$/, ''));
  // Engines speak plain HTTP with registries on loopback.
  for (const scheme of isHere ? ['https', 'http'] : ['https'])
    try {
      const answer = await fetch(`${scheme}://${host}/v2/${path}/manifests/${reference}`, {
        method: 'HEAD',
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return retryAfterMs(answer.headers.get('retry-after'), Date.now());
    } catch {
      // The pull has its own message, and the wait its default.
    }
  return undefined;
}

const hubPath = (repository: string): string =>
  repository.includes('/') ? repository : `library/${repository}`;

/** A number of seconds, or a date (RFC 9110, 10.2.3). */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return 1_000 * Number(text);
  const timeMs = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(timeMs) ? undefined : Math.max(0, timeMs - nowMs);
}
