/**
 * Packages that the tarball carries, since npm would install more of them than Berth needs. dockerode's own
 * packages have parts that npm compiles (ssh2, cpu-features), and swagger-ui-dist sends statistics from a
 * script that npm runs. What is carried has neither dependencies nor scripts.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { licencesOf, WITHOUT_UNUSED } from '../control-plane/local/assets/bundle.ts';
import { SWAGGER_FILES } from '../control-plane/local/assets/swagger-files.ts';

const PACKAGES = resolve(import.meta.dirname, '../node_modules');

export const CARRIED = ['dockerode', 'swagger-ui-dist'] as const;

/** Writes them into this folder, which is the `node_modules` of the package. */
export async function carryPackages(folder: string): Promise<void> {
  for (const name of CARRIED) mkdirSync(join(folder, name), { recursive: true });
  await carryDockerode(join(folder, 'dockerode'));
  carrySwagger(join(folder, 'swagger-ui-dist'));
}

/** One file, with the packages that it needs. SSH works without the compiled parts, only slower. */
async function carryDockerode(folder: string): Promise<void> {
  const { metafile } = await build({
    absWorkingDir: resolve(PACKAGES, '..'),
    entryPoints: { index: 'node_modules/dockerode/lib/docker.js' },
    outdir: folder,
    metafile: true,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.11',
    charset: 'utf8',
    legalComments: 'inline',
    logLevel: 'silent',
    ...WITHOUT_UNUSED,
  });
  writeFileSync(join(folder, 'LICENSE'), await licencesOf(Object.keys(metafile.inputs)));
  writeManifest('dockerode', folder, { main: 'index.js' });
}

function carrySwagger(folder: string): void {
  for (const name of [...SWAGGER_FILES, 'swagger-ui-bundle.js.LICENSE.txt', 'LICENSE', 'NOTICE'])
    copyFileSync(join(PACKAGES, 'swagger-ui-dist', name), join(folder, name));
  writeManifest('swagger-ui-dist', folder);
}

function writeManifest(name: string, folder: string, entry: { main?: string } = {}): void {
  const { version, license } = JSON.parse(readFileSync(join(PACKAGES, name, 'package.json'), 'utf8'));
  const manifest = { name, version, license, ...entry };
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}
