/** The engine's own description of itself, read once for all who need it. */
import type Docker from 'dockerode';
import { MAX_ADDRESS_LENGTH } from '../../../shared/protocol/bounds.ts';
import { wrapErrors } from '../docker-error.ts';
import type { DockerInfo } from './container-spec.ts';

/** For people to copy, too. Engines of one machine may have the same ID, but never the same folder. */
export const engineId = ({ ID, DockerRootDir }: Pick<DockerInfo, 'ID' | 'DockerRootDir'>): string =>
  `${ID}@${DockerRootDir}`.slice(0, MAX_ADDRESS_LENGTH);

export class EngineInfo {
  readonly #docker: Docker;
  #info: Promise<DockerInfo> | undefined;

  constructor(docker: Docker) {
    this.#docker = docker;
  }

  read(): Promise<DockerInfo> {
    this.#info ??= wrapErrors(this.#docker.info() as Promise<DockerInfo>).catch((error: unknown) => {
      this.#info = undefined;
      throw error;
    });
    return this.#info;
  }

  /** Differs between engines, and after an engine has got another data folder. */
  async identity(): Promise<string> {
    const { ID, DockerRootDir } = await this.read();
    return `${ID} ${DockerRootDir}`;
  }

  /** Reads again. */
  refresh(): Promise<DockerInfo> {
    this.#info = undefined;
    return this.read();
  }
}
