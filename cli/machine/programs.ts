/** The programs of the package, and the Node that runs them. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** For Node: less memory for a control plane, which runs for months. */
export const LEAN = ['--max-semi-space-size=2', '--no-maglev', '--liftoff-only'];

/** The program is JavaScript in the package, and TypeScript in a checkout. `path` has no ending. */
export function programAt(path: string): { file: string; folder: string } {
  for (const folder of [join(import.meta.dirname, '..'), join(import.meta.dirname, '../..')])
    for (const file of [`${join(folder, path)}.js`, `${join(folder, path)}.ts`])
      if (existsSync(file)) return { file, folder };
  throw new Error(`${path} is missing: install Berth again.`);
}

/** The documents of this checkout or package; undefined for a command line that stands alone. */
export function documentsFolder(): string | undefined {
  for (const folder of [join(import.meta.dirname, '../docs'), join(import.meta.dirname, '../../docs')])
    if (existsSync(join(folder, OPERATOR_GUIDE))) return folder;
  return undefined;
}

export const USER_GUIDE = 'user-guide.md';
export const OPERATOR_GUIDE = 'operator-guide.md';

const NODE_MAJOR = 24;

/** A Node that runs the programs: this one if it is new enough, else the one that comes with the package. */
export function node24(): string {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR) return process.execPath;
  const own = nodeOfPackage();
  if (own) return own;
  throw new Error(`This needs Node ${NODE_MAJOR} or newer, and this is ${process.version}.`);
}

/** The Node that comes with the package; undefined if npm has not installed it. */
export function nodeOfPackage(): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  const { platform, arch } = process;
  for (const name of [`node-${platform}-${arch}`, `node-bin-${platform}-${arch}`])
    try {
      return join(dirname(resolve(`${name}/package.json`)), 'bin/node');
    } catch {
      // Not for this machine.
    }
  return undefined;
}
