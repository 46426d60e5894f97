/** The client for programs: one file for Node 20.11 and newer, and its types, which need no other package. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '..');
const ENTRY = 'berth';
const API_TYPES = 'api-types';

/** What `import ... from 'berth/client'` finds, relative to the package. */
export const CLIENT_EXPORT = { types: `./client/${ENTRY}.d.ts`, default: `./client/${ENTRY}.js` };

/** Writes the files into the folder `client` of the package, which must be within the checkout. */
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
  const scratch = join(folder, 'types');
  copyDeclarations(declare(scratch), ENTRY, folder);
  rmSync(scratch, { recursive: true });
}

/**
 * Makes the declarations of the client in a scratch folder, and returns their folder. The types of the API's
 * objects are inferred from schemas of the control plane, which the package does not have. A function call of
 * each type makes the compiler write out its fields.
 */
function declare(scratch: string): string {
  const source = readFileSync(join(ROOT, 'client', `${API_TYPES}.ts`), 'utf8');
  const names = [...source.matchAll(/^export type (\w+) =/gm)].map(([, name]) => name);
  const calls = names.map((name) => `export const ${name} = inferred<api.${name}>();\n`);
  mkdirSync(scratch);
  writeFileSync(
    join(scratch, `${API_TYPES}.ts`),
    `import type * as api from ${JSON.stringify(join(ROOT, 'client', `${API_TYPES}.ts`))};\n` +
      `declare const inferred: <T>() => T;\n${calls.join('')}`,
  );
  const config = {
    extends: join(ROOT, 'client/tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: ROOT,
      outDir: 'declared',
    },
    include: [join(ROOT, 'client'), `${API_TYPES}.ts`],
  };
  writeFileSync(join(scratch, 'tsconfig.json'), JSON.stringify(config));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', scratch]);
  const declared = join(scratch, 'declared');
  const writtenOut = readFileSync(join(declared, relative(ROOT, scratch), `${API_TYPES}.d.ts`), 'utf8');
  writeFileSync(
    join(declared, 'client', `${API_TYPES}.d.ts`),
    writtenOut.replace(/^export declare const (\w+): /gm, 'export type $1 = '),
  );
  return join(declared, 'client');
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
