/** A control plane and agents of an earlier release, from its package (test/support/releases). */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Program, startProgram } from '../hosts/process.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

export class EarlierRelease {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async unpack(name: string): Promise<EarlierRelease> {
    const folder = await mkdtemp(join(tmpdir(), 'berth-earlier-'));
    const file = join(ROOT, 'test/support/releases', `${name}.tgz`);
    await promisify(execFile)('tar', ['-xzf', file, '-C', folder, '--strip-components', '1']);
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
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
