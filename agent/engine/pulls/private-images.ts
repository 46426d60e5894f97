/**
 * Private images: which images of a Docker engine came with credentials of users, and whose pulls their
 * registries have allowed (P235 to P238). Marks them with tags. Never pulls, and never has credentials.
 */
import type Docker from 'dockerode';
import type { ImageInfo } from 'dockerode';
import { imageRegistry } from '../../../shared/protocol/secrets.ts';
import { statusOf, tolerate, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import { canonicalName, repositoryOf } from '../images/image-name.ts';
import {
  digestOf,
  type Mark,
  markOf,
  marksIn,
  NOBODY,
  outdatedBy,
  showsPossession,
} from './private-marks.ts';
import { type PullIntent, PullIntents, type PullIntentsOptions } from './pull-intents.ts';

export interface PrivatePullsOptions extends PullIntentsOptions {
  deployment: string;
}

/** A pull, with the fingerprint of the owner's credentials if it has any. */
export interface PullBy {
  image: string;
  credentials: string | undefined;
  /** Requests the description of the image from its registry. Throws EngineError if that refuses. */
  prove(): Promise<void>;
}

interface Seen {
  id: string;
  marks: Mark[];
  /** Canonical names, without marks. */
  names: string[];
}

/** An engine may complete a pull shortly after its client has left. */
const SETTLED_AFTER_MS = 600_000;
/** Interrupted pulls that are remembered. Beyond it the oldest is looked at sooner. */
const MAX_INTERRUPTED = 100;

export class PrivateImages {
  readonly #docker: Docker;
  readonly #options: PrivatePullsOptions;
  readonly #engineId: () => Promise<string>;
  #opened: Promise<PullIntents> | undefined;

  constructor(docker: Docker, options: PrivatePullsOptions, engineId: () => Promise<string>) {
    this.#docker = docker;
    this.#options = options;
    this.#engineId = engineId;
  }

  /** Runs a pull. Throws EngineError if it does not entitle to the image that the engine has then. */
  async whilePulled(by: PullBy, pull: () => Promise<void>): Promise<void> {
    const intents = await this.#open();
    await this.#reviewInterrupted(intents);
    if (by.credentials === undefined) {
      await pull();
      return wrapErrors(this.#settle(intents, by));
    }
    const registry = digestOf(imageRegistry(by.image));
    const before = new Set((await wrapErrors(this.#docker.listImages())).map(({ Id }) => Id));
    const intent: PullIntent = { image: canonicalName(by.image), registry, before, endedMs: null };
    intents.begin(intent);
    try {
      await pull();
      await wrapErrors(this.#settle(intents, by, intent));
      intents.end(intent);
    } catch (error) {
      // The engine has refused, or may still go on.
      if (error instanceof EngineError && error.kind === 'permanent') intents.end(intent);
      else intent.endedMs = this.#options.nowMs();
      throw error;
    }
  }

  /** Whether a container of this image may be started with these credentials. */
  async allows(imageId: string, credentials: string | undefined): Promise<boolean> {
    const intents = await this.#open();
    const seen = await this.#see(imageId);
    if (!seen) return false;
    if (seen.marks.length === 0) return this.#doubtsOf(intents, seen).length === 0;
    const deployment = digestOf(this.#options.deployment);
    return seen.marks.some((one) => one.deployment === deployment && one.credentials === credentials);
  }

  /** Removes the marks of images that have nothing else, and thereby the images. */
  async removeNameless(images: readonly ImageInfo[], used: ReadonlySet<string>): Promise<void> {
    for (const { id, marks, names } of images.map(readImage))
      if (names.length === 0 && !used.has(id)) for (const { name } of marks) await this.#untag(name);
  }

  /** What the pull that has succeeded shows about the image. */
  async #settle(intents: PullIntents, by: PullBy, intent?: PullIntent): Promise<void> {
    const seen = await this.#see(by.image);
    if (!seen) return;
    const registry = imageRegistry(by.image);
    const doubts = this.#doubtsOf(intents, seen, intent);
    const isPrivate = seen.marks.length > 0 || doubts.length > 0;
    if (isPrivate) {
      const others = [...seen.marks.map((one) => one.registry), ...doubts];
      if (!showsPossession(registry, others)) {
        if (seen.names.length > 1) await this.#untag(by.image);
        throw new EngineError('permanent', unproven(by.image, registry));
      }
      // An engine that has the description of an image does not request it again by its digest.
      if (by.image.includes('@')) await by.prove();
    }
    const isNew = intent !== undefined && !intent.before.has(seen.id);
    if (by.credentials !== undefined && (isPrivate || isNew))
      await this.#mark(seen, registry, by.credentials);
    else for (const { name } of seen.marks) await this.#untag(name);
    intents.clear(seen.id);
  }

  /** Digests of the registries from which the image may have come with credentials, without a mark so far. */
  #doubtsOf(intents: PullIntents, { id, names }: Seen, own?: PullIntent): string[] {
    const repositories = names.map(repositoryOf);
    const pulls = intents.all.filter(
      (one) => one !== own && !one.before.has(id) && repositories.includes(repositoryOf(one.image)),
    );
    const registries = pulls.map(({ registry }) => registry);
    if (!intents.isSuspect(id)) return registries;
    // The name that was pulled now is among them.
    const [first = '', ...rest] = new Set(names.map((name) => digestOf(imageRegistry(name))));
    return [...registries, rest.length === 0 ? first : ''];
  }

  async #mark(seen: Seen, registry: string, credentials: string): Promise<void> {
    const mark = markOf({ imageId: seen.id, deployment: this.#options.deployment, registry, credentials });
    const [repo = '', tag = ''] = mark.name.split(':');
    await this.#docker.getImage(seen.id).tag({ repo, tag });
    for (const { name } of outdatedBy(mark, seen.marks)) await this.#untag(name);
  }

  /** Marks what interrupted pulls have brought after all, once the engine must have ended them. */
  async #reviewInterrupted(intents: PullIntents): Promise<void> {
    const ended = intents.all.filter(({ endedMs }) => endedMs !== null);
    const now = this.#options.nowMs();
    const due = ended.filter(
      ({ endedMs }, at) => ended.length - at > MAX_INTERRUPTED || now - (endedMs ?? now) >= SETTLED_AFTER_MS,
    );
    if (due.length === 0) return;
    const images = (await wrapErrors(this.#docker.listImages())).map(readImage);
    for (const intent of due) {
      const repository = repositoryOf(intent.image);
      for (const seen of images) {
        const isNew =
          !intent.before.has(seen.id) && seen.names.some((name) => repositoryOf(name) === repository);
        if (isNew && seen.marks.length === 0)
          await wrapErrors(this.#mark(seen, imageRegistry(intent.image), NOBODY));
      }
      intents.end(intent);
    }
  }

  async #see(image: string): Promise<Seen | undefined> {
    try {
      return readImage(await this.#docker.getImage(image).inspect());
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw error;
    }
  }

  #untag(name: string): Promise<void> {
    return tolerate(this.#docker.getImage(name).remove(), [404, 409]);
  }

  #open(): Promise<PullIntents> {
    this.#opened ??= this.#read().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #read(): Promise<PullIntents> {
    const images = await wrapErrors(this.#docker.listImages());
    const deployment = digestOf(this.#options.deployment);
    const seen = images.map(readImage);
    const hasMarks = seen.some(({ marks }) => marks.some((one) => one.deployment === deployment));
    const pulled = seen.flatMap(({ id, marks, names }) =>
      marks.length === 0 && (names.length === 0 || names.some((name) => name.includes('@'))) ? [id] : [],
    );
    return new PullIntents(this.#options, await this.#engineId(), { hasMarks, pulled });
  }
}

type Listed = Pick<ImageInfo, 'Id' | 'RepoTags' | 'RepoDigests'>;

function readImage({ Id: id, RepoTags, RepoDigests }: Listed): Seen {
  const all = [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter((name) => !name.startsWith('<none>'));
  const marks = marksIn(all);
  const own = new Set(marks.map(({ name }) => name));
  return { id, marks, names: all.filter((name) => !own.has(name)) };
}

const unproven = (image: string, registry: string): string =>
  `pulling ${image}: this host has the same image from another registry, where it needs credentials, and can't ` +
  `verify that ${registry} has all of it: use the name that the image has there, or another host`;
