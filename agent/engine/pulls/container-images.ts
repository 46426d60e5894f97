/**
 * Container images: lets a container start only from an image that its owner may have (P235). The name of an
 * image may lead to another one at any time, so that it is the container whose image counts.
 */
import type Docker from 'dockerode';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { tolerate, wrapErrors } from '../docker-error.ts';
import { EngineError } from '../engine.ts';
import type { PrivateImages } from './private-images.ts';

export class ContainerImages {
  readonly #docker: Docker;
  readonly #privateImages: PrivateImages;
  /** Containers that this process has made and not started yet. */
  readonly #allowed = new Set<string>();

  constructor(docker: Docker, privateImages: PrivateImages) {
    this.#docker = docker;
    this.#privateImages = privateImages;
  }

  /** After a creation. Throws `image-missing`, without the container, if the owner must pull the image. */
  async created(containerId: string, assignment: Assignment): Promise<void> {
    if (await this.#isAllowed(containerId, assignment)) this.#allowed.add(containerId);
    else throw new EngineError('image-missing', await this.#removed(containerId, assignment));
  }

  /** Before a start. An earlier process may have made the container, and ended before it looked. */
  async starts(containerId: string, assignment: Assignment, beforeRemoval: () => void): Promise<void> {
    if (this.#allowed.delete(containerId) || (await this.#isAllowed(containerId, assignment))) return;
    beforeRemoval();
    throw new EngineError('temporary', await this.#removed(containerId, assignment));
  }

  async #isAllowed(containerId: string, { credentials }: Assignment): Promise<boolean> {
    const { Image } = await wrapErrors(this.#docker.getContainer(containerId).inspect());
    return this.#privateImages.allows(Image, credentials);
  }

  async #removed(containerId: string, { image }: Assignment): Promise<string> {
    await tolerate(this.#docker.getContainer(containerId).remove({ v: true }), [404]);
    return (
      `the image ${image} came to this host with credentials of others: name it as its registry does, and set ` +
      'your own with `berth registry set`'
    );
  }
}
