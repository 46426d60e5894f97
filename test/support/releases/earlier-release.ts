/**
 * A control plane and agents of the release before, from its package. Nothing has been released yet: the
 * package of this checkout stands for it, with its own protocol or with another.
 */
import { execFile } from 'node:child_process';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { PROTOCOL_HASH } from '../../../shared/protocol/version.ts';
import { type Program, startProgram } from '../hosts/process.ts';
import { scratchFolder } from '../tools/folder.ts';
import { DIST, TARBALL } from './this-release.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

export class EarlierRelease {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** `hash`: of its protocol. The release of this checkout must be there (thisRelease). */
  static async unpack(hash = PROTOCOL_HASH): Promise<EarlierRelease> {
    const folder = await scratchFolder('berth-earlier-');
    const args = ['-xzf', join(DIST, TARBALL), '-C', folder, '--strip-components', '1'];
    await promisify(execFile)('tar', args);
    // The package has only those that npm can't install.
    await rm(join(folder, 'node_modules'), { recursive: true });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const version = join(folder, 'shared/protocol/version.js');
    const text = await readFile(version, 'utf8');
    await writeFile(version, text.replaceAll(PROTOCOL_HASH, hash));
    return new EarlierRelease(folder);
  }

  controlPlane(env: NodeJS.ProcessEnv): Program {
    return startProgram([join(this.#folder, 'control-plane/node.js')], { env });
  }

  agent(env: NodeJS.ProcessEnv): Program {
    return startProgram([join(this.#folder, 'agent/main.js')], { env });
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
