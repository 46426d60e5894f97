/**
 * Image pulls: at most one pull of an image with the same credentials at a time, shared by all its callers. A
 * pull is cancelled if it makes no progress for the stall time or if no caller waits for it any longer (P44).
 */
import type Docker from 'dockerode';
import { imageRegistry, type RegistryCredentials } from '../../../shared/protocol/secrets.ts';
import { sleep } from '../../sleep.ts';
import { withResolvers } from '../../with-resolvers.ts';
import { engineMessage, statusOf } from '../docker-error.ts';
import { EngineError, type EngineErrorKind } from '../engine.ts';
import { firstSentence } from '../images/pull-error.ts';
import { type PullEvent, PullProgress } from '../images/pull-progress.ts';
import { assertAllowed } from '../images/registries.ts';
import { findLogin, type Login, loginOf, refusalHint, unreachableHint } from '../images/registry-auth.ts';
import { isRateLimited, RegistryHolds, requestRetryAfter } from '../images/registry-holds.ts';
import { jsonLines } from '../json-lines.ts';
import type { OwnImages } from './own-images.ts';
import type { PrivateImages } from './private-images.ts';

export interface PullOptions {
  /** Determines where Docker's config file and its credential helpers are found. */
  env: NodeJS.ProcessEnv;
  /** The registries that images may come from (P139). */
  registries: readonly string[];
  stallMs: number;
  progressEveryMs: number;
  /** Pause before the second attempt at an unreachable registry. */
  retryMs: number;
}

/** With the credentials of the service's owner; without, with those that the host has, if any. */
interface Wanted {
  image: string;
  credentials: RegistryCredentials | undefined;
}

interface Pull {
  done: Promise<void>;
  listeners: Set<(detail: string) => void>;
  abort: AbortController;
}

/** The registry could not be reached, as opposed to refusing the image. */
const UNREACHABLE =
  /dial tcp|no such host|server misbehaving|name resolution|connection refused|no route to host|i\/o timeout|Client\.Timeout|network is unreachable/i;
/**
 * Transient faults of the registry, the network or the disk. The patterns must be specific, because names of
 * images and ports contain numbers.
 */
const TRANSIENT =
  /HTTP (?:response )?status(?: code)?:? 5\d\d|unexpected status[^:]*(?:: |:\/\/\S+: )5\d\d|parsing HTTP 5\d\d|HTTP 408\b|no space left on device|connection reset|connection timed out|closed network connection|stream error: stream ID|broken pipe|handshake timeout|deadline exceeded/i;
/** In capitals, which no image's name has. */
const CUT_OFF = /\b(?:EOF|GOAWAY)\b/;

export class Pulls {
  readonly #docker: Docker;
  readonly #images: OwnImages;
  readonly #privateImages: PrivateImages;
  readonly #options: PullOptions;
  readonly #running = new Map<string, Pull>();
  readonly #holds = new RegistryHolds(() => performance.now());

  constructor(docker: Docker, images: OwnImages, privateImages: PrivateImages, options: PullOptions) {
    this.#docker = docker;
    this.#images = images;
    this.#privateImages = privateImages;
    this.#options = options;
  }

  /** Throws EngineError, also if `signal` aborts. */
  async pull(
    image: string,
    progress: (detail: string) => void,
    signal: AbortSignal,
    credentials?: RegistryCredentials,
  ): Promise<void> {
    const key = `${image} ${credentials?.id ?? ''}`;
    const pull = this.#running.get(key) ?? this.#begin(key, { image, credentials });
    pull.listeners.add(progress);
    const stopped = withResolvers<never>();
    const onAbort = () =>
      stopped.reject(
        new EngineError('temporary', `pulling ${image}: cancelled, because no service waits for the image`),
      );
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await Promise.race([pull.done, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      pull.listeners.delete(progress);
      if (pull.listeners.size === 0) {
        pull.abort.abort();
        if (this.#running.get(key) === pull) this.#running.delete(key);
      }
    }
  }

  #begin(key: string, wanted: Wanted): Pull {
    const listeners: Pull['listeners'] = new Set();
    const abort = new AbortController();
    const done = this.#run(wanted, listeners, abort.signal);
    const pull = { done, listeners, abort };
    this.#running.set(key, pull);
    const forget = () => {
      if (this.#running.get(key) === pull) this.#running.delete(key);
    };
    done.then(forget, forget);
    return pull;
  }

  async #run(wanted: Wanted, listeners: Pull['listeners'], signal: AbortSignal): Promise<void> {
    const { image, credentials } = wanted;
    await assertAllowed(image, this.#options.registries);
    if (credentials && credentials.registry !== imageRegistry(image))
      throw new EngineError('permanent', `pulling ${image}: the credentials are for another registry`);
    this.#holds.assertFree(holdKey(wanted), image);
    const prove = () => this.#prove(wanted);
    await this.#images.whilePulled(image, () =>
      this.#privateImages.whilePulled({ image, credentials: credentials?.id, prove }, () =>
        this.#twice(wanted, listeners, signal),
      ),
    );
  }

  /** An unreachable registry is tried twice; then the start fails for the time being (CONT-14). */
  async #twice(wanted: Wanted, listeners: Pull['listeners'], signal: AbortSignal): Promise<void> {
    try {
      await this.#once(wanted, listeners, signal);
    } catch (error) {
      if (signal.aborted || !UNREACHABLE.test(engineMessage(error))) throw error;
      await sleep(this.#options.retryMs, signal);
      await this.#once(wanted, listeners, signal);
    }
  }

  /** Requests the description of the image, with the same login as the pull. */
  async #prove(wanted: Wanted): Promise<void> {
    const login = await this.#loginFor(wanted);
    try {
      await this.#docker.getImage(wanted.image).distribution({ authconfig: login.auth ?? {} });
    } catch (error) {
      throw await this.#failure(wanted, login, error);
    }
  }

  /** `error`: of a request to the engine, or what the engine reported during a pull. */
  async #failure(wanted: Wanted, login: Login, error: unknown): Promise<EngineError> {
    const message = typeof error === 'string' ? error : engineMessage(error);
    const isUnanswered = typeof error !== 'string' && statusOf(error) === undefined;
    if (!isUnanswered && isRateLimited(message)) {
      const waitMs = await requestRetryAfter(wanted.image);
      return this.#holds.refused(holdKey(wanted), wanted.image, message, waitMs);
    }
    const kind = isUnanswered ? 'unreachable' : kindOf(message);
    if (kind === 'permanent') this.#holds.answered(holdKey(wanted));
    return new EngineError(kind, failureOf(wanted, login, message), error);
  }

  async #loginFor({ image, credentials }: Wanted): Promise<Login> {
    return credentials ? loginOf(credentials) : findLogin(this.#options.env, image);
  }

  async #once(wanted: Wanted, listeners: Pull['listeners'], signal: AbortSignal): Promise<void> {
    const { image } = wanted;
    const { stallMs, progressEveryMs } = this.#options;
    const stall = new AbortController();
    const timer = setTimeout(() => stall.abort(), stallMs);
    const progress = new PullProgress(image);
    const throttle = new Throttle(progressEveryMs, () => {
      for (const listener of listeners) listener(progress.describe());
    });
    const login = await this.#loginFor(wanted);
    try {
      const abortSignal = AbortSignal.any([signal, stall.signal]);
      const options = { ...reference(image), abortSignal };
      const stream = await this.#docker.createImage(login.auth, options);
      abortSignal.addEventListener('abort', () => destroy(stream), { once: true });
      for await (const event of jsonLines<PullEvent>(stream)) {
        timer.refresh();
        const failure = event.errorDetail?.message ?? event.error;
        if (failure !== undefined) throw await this.#failure(wanted, login, failure);
        progress.take(event);
        throttle.trigger();
      }
      if (stall.signal.aborted) throw stall.signal.reason;
      this.#holds.answered(holdKey(wanted));
    } catch (error) {
      if (error instanceof EngineError) throw error;
      if (stall.signal.aborted) {
        throw new EngineError(
          'temporary',
          `pulling ${image}: no progress for ${Math.round(stallMs / 1000)} s`,
          error,
        );
      }
      throw await this.#failure(wanted, login, error);
    } finally {
      clearTimeout(timer);
      throttle.close();
    }
  }
}

/**
 * What a user reads. Not every message of the engine names the image: for an unreachable registry it names
 * only the registry.
 */
function failureOf({ image, credentials }: Wanted, { problem }: Login, message: string): string {
  const sentence = firstSentence(message);
  // A registry may quote what it was sent.
  const words = credentials ? sentence.replaceAll(credentials.password, '***') : sentence;
  const registry = imageRegistry(image);
  const hint = UNREACHABLE.test(message)
    ? unreachableHint(registry)
    : (problem ?? refusalHint(registry, credentials, message));
  return `pulling ${image}: ${words}${hint === undefined ? '' : ` (${hint})`}`;
}

/** Notifies of the first trigger at once and of later ones at most once per `everyMs`. */
class Throttle {
  readonly #everyMs: number;
  readonly #notify: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isStale = false;

  constructor(everyMs: number, notify: () => void) {
    this.#everyMs = everyMs;
    this.#notify = notify;
  }

  trigger(): void {
    this.#isStale = this.#timer !== undefined;
    if (this.#isStale) return;
    this.#notify();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isStale) this.trigger();
    }, this.#everyMs);
  }

  /** Sends a pending notification now. */
  close(): void {
    clearTimeout(this.#timer);
    if (this.#isStale) this.#notify();
  }
}

/** Without a tag the engine would pull every tag of the image. */
function reference(image: string): { fromImage: string; tag?: string } {
  const [name = image] = image.split('@');
  const tagged = name.lastIndexOf(':') > name.lastIndexOf('/');
  return image.includes('@') || tagged ? { fromImage: image } : { fromImage: image, tag: 'latest' };
}

/** The kind of a failure that the engine reports in these words. */
export const kindOf = (message: string): EngineErrorKind =>
  [TRANSIENT, CUT_OFF, UNREACHABLE].some((one) => one.test(message)) ? 'temporary' : 'permanent';

const holdKey = ({ image, credentials }: Wanted): string =>
  `${imageRegistry(image)} ${credentials?.id ?? ''}`;

function destroy(stream: NodeJS.ReadableStream): void {
  if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy();
}
