/** The engine's own description of itself, read once for all who need it. */
import type Docker from 'dockerode';
import { wrapErrors } from '../docker-error.ts';
import type { DockerInfo } from './container-spec.ts';

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
