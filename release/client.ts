/** The client for programs: one file for Node 20.11 and newer, and its types, which need no other package. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
const ENTRY = 'berth';

/** What `import ... from 'berth/client'` finds, relative to the package. */
export const CLIENT_EXPORT = { types: `./client/${ENTRY}.d.ts`, default: `./client/${ENTRY}.js` };

/** Writes the files into the folder `client` of the package. */
export async function buildClient(folder: string): Promise<void> {
  await build({
    absWorkingDir: ROOT,
    entryPoints: [`client/${ENTRY}.ts`],
    outdir: folder,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.11',
    charset: 'utf8',
  });
  const declared = mkdtempSync(join(tmpdir(), 'berth-types-'));
  try {
    const options = ['--noEmit', 'false', '--declaration', '--emitDeclarationOnly'];
    const places = ['--rootDir', ROOT, '--outDir', declared];
    execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', join(ROOT, 'client'), ...options, ...places]);
    copyDeclarations(join(declared, 'client'), ENTRY, folder);
  } finally {
    rmSync(declared, { recursive: true });
  }
}

/** Copies the declarations of a module, and of all modules that it imports. Throws for one of elsewhere. */
function copyDeclarations(from: string, entry: string, to: string): void {
  const names = new Set([entry]);
  for (const name of names) {
    const text = readFileSync(join(from, `${name}.d.ts`), 'utf8');
    for (const [, imported = ''] of text.matchAll(/ from '([^']+)'/g)) {
      const [, sibling] = /^\.\/([\w-]+)\.ts$/.exec(imported) ?? [];
      if (sibling === undefined) throw new Error(`The types of the client must not import ${imported}.`);
      names.add(sibling);
    }
    writeFileSync(join(to, `${name}.d.ts`), text.replace(/( from '[^']+)\.ts'/g, "$1.js'"));
  }
}
