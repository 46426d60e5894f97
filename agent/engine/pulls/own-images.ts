/**
 * The images that this deployment pulled at a Docker engine: records them, and removes those that nobody uses
 * (P181 to P185). Never removes by force, nor any image that it did not pull itself.
 */
import type Docker from 'dockerode';
import type { ImageInfo } from 'dockerode';
import { FairQueue } from '../../../shared/fair-queue.ts';
import { engineError, statusOf, wrapErrors } from '../docker-error.ts';
import type { RemovedImage, UnusedImageOptions } from '../engine.ts';
import { canonicalName } from '../images/image-name.ts';
import { ImageRecord, type ImageRecordOptions } from '../images/image-record.ts';
import {
  byUse,
  type EngineImage,
  type RecordedImage,
  type Standing,
  standingOf,
  type Uses,
} from '../images/unused-images.ts';
import type { PrivateImages } from './private-images.ts';
import { isMark } from './private-marks.ts';

/** With more images the least recently used goes, whatever its age, before the record is full. */
const MAX_KEPT = 900;

export class OwnImages {
  readonly #docker: Docker;
  readonly #options: ImageRecordOptions;
  readonly #engineId: () => Promise<string>;
  readonly #privateImages: PrivateImages;
  /** Canonical names of the images being pulled. */
  readonly #pulling = new Set<string>();
  readonly #removals = new FairQueue({ total: 1 });
  #record: ImageRecord | undefined;
  #removing: { image: string; done: Promise<unknown> } | undefined;

  constructor(
    docker: Docker,
    options: ImageRecordOptions,
    engineId: () => Promise<string>,
    privateImages: PrivateImages,
  ) {
    this.#docker = docker;
    this.#privateImages = privateImages;
    this.#options = options;
    this.#engineId = engineId;
  }

  /** Runs the pull of an image, which becomes this deployment's if the engine does not have it. */
  async whilePulled(name: string, pull: () => Promise<void>): Promise<void> {
    const image = canonicalName(name);
    this.#pulling.add(image);
    try {
      if (this.#removing?.image === image) await this.#removing.done.catch(() => {});
      const record = await this.#open();
      const isOwn = (await this.#idOf(image)) === undefined && record.put(image, null);
      await pull().finally(() => (isOwn ? this.#settle(record, image) : undefined));
    } finally {
      this.#pulling.delete(image);
    }
  }

  /** See the engine port. */
  removeUnused(options: UnusedImageOptions): Promise<RemovedImage | undefined> {
    return this.#removals.run(() => wrapErrors(this.#removeOne(options)));
  }

  async #removeOne({ wanted, unusedMs }: UnusedImageOptions): Promise<RemovedImage | undefined> {
    const record = await this.#open();
    if (record.all().length === 0) return undefined;
    const uses = await this.#uses(wanted);
    const now = this.#options.nowMs();
    await this.#privateImages.removeNameless(uses.listed, uses.ofContainers);
    const excess = record.all().length > MAX_KEPT;
    for (const one of this.#review(record, uses)) {
      const ageMs = now - one.usedMs;
      if (ageMs < unusedMs && !excess) return undefined;
      const bytes = await this.#freedBytes(one.image);
      // No await between this check and the request: a pull that begins now waits for the removal.
      if (this.#wanted(wanted).has(one.image)) continue;
      if (!(await this.#remove(one, record))) continue;
      await this.#privateImages.removeNameless(await this.#docker.listImages(), uses.ofContainers);
      return { image: one.image, bytes, unusedMs: ageMs };
    }
    return undefined;
  }

  /** Brings the record up to date. Returns the unused images, the least recently used first. */
  #review(record: ImageRecord, uses: Uses): RecordedImage[] {
    const all = record.all();
    const now = this.#options.nowMs();
    const standings = all.map((one) => ({ one, standing: standingOf(one, all, uses, now) }));
    const those = (...which: Standing[]) =>
      standings.filter(({ standing }) => which.includes(standing)).map(({ one }) => one);
    record.drop(those('absent', 'foreign').map(({ image }) => image));
    for (const { image } of those('new')) {
      const id = uses.images.find(({ names }) => names.includes(image))?.id;
      if (id !== undefined) record.put(image, id);
    }
    record.used(those('used'));
    return those('unused').sort(byUse);
  }

  /** False if the engine refuses: somebody has begun to use the image. */
  async #remove(one: RecordedImage, record: ImageRecord): Promise<boolean> {
    const done = this.#docker.getImage(one.image).remove();
    this.#removing = { image: one.image, done };
    try {
      await done;
      record.drop([one.image]);
      return true;
    } catch (error) {
      const status = statusOf(error);
      if (status === 409) record.used([one]);
      else if (status === 404) record.drop([one.image]);
      else throw engineError(error);
      return false;
    } finally {
      this.#removing = undefined;
    }
  }

  async #uses(wanted: UnusedImageOptions['wanted']): Promise<Uses & { listed: ImageInfo[] }> {
    const [images, containers] = await Promise.all([
      // Images that others built from one of these may have no name.
      this.#docker.listImages({ all: true }),
      this.#docker.listContainers({ all: true }),
    ]);
    return {
      listed: images,
      images: images.map(readImage),
      ofContainers: new Set(containers.map(({ ImageID }) => ImageID)),
      wanted: this.#wanted(wanted),
      pulling: new Set(this.#pulling),
    };
  }

  #wanted(wanted: UnusedImageOptions['wanted']): Set<string> {
    return new Set([...wanted().map(canonicalName), ...this.#pulling]);
  }

  /**
   * What only this image has; before version 1.42 of the engine's API the whole image. An image with another
   * name frees nothing when one name goes.
   */
  async #freedBytes(image: string): Promise<number> {
    // The client library's types do not declare this option.
    const options = { 'shared-size': true } as Docker.ListImagesOptions;
    const infos = await this.#docker.listImages(options);
    const info = infos.find((one) => readImage(one).names.includes(image));
    if (!info || (info.RepoTags ?? []).filter((name) => !isMark(name)).length > 1) return 0;
    return Math.max(0, info.Size - Math.max(0, info.SharedSize));
  }

  /** The pull has ended, with or without the image. */
  async #settle(record: ImageRecord, image: string): Promise<void> {
    // An engine that does not answer leaves this to a later review.
    const id = await this.#idOf(image).catch(() => null);
    if (id === undefined) record.drop([image]);
    else if (id !== null) record.put(image, id);
  }

  async #idOf(image: string): Promise<string | undefined> {
    try {
      return (await this.#docker.getImage(image).inspect()).Id;
    } catch (error) {
      if (statusOf(error) === 404) return undefined;
      throw engineError(error);
    }
  }

  async #open(): Promise<ImageRecord> {
    this.#record ??= new ImageRecord(this.#options, await this.#engineId());
    return this.#record;
  }
}

const readImage = ({ Id, ParentId, RepoTags, RepoDigests }: ImageInfo): EngineImage => ({
  id: Id,
  parentId: ParentId,
  // Images without a name are listed as `<none>`.
  // Marks of private images go with the image.
  names: [...(RepoTags ?? []), ...(RepoDigests ?? [])].filter(
    (name) => !name.startsWith('<none>') && !isMark(name),
  ),
});
