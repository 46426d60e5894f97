/** Owns the reading of the project's own files, for tests of its structure. Paths are relative to the repository, with `/`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDERS = ['shared', 'control-plane', 'agent', 'examples', 'docs', 'test', '.ci'];

export interface Import {
  /** As written. */
  specifier: string;
  /** Path of the file, where it is one of ours. */
  file: string | undefined;
  /** Name of the package or module, where it is not ours. */
  package: string | undefined;
  typeOnly: boolean;
}

export interface Source {
  path: string;
  text: string;
  /** Without comments. */
  code: string;
  imports: Import[];
}

/** Every text file of the project, but for what tools write. */
export function projectFiles(): { path: string; text: string }[] {
  const top = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = top.map(({ name }) => name).filter((name) => /\.(ts|json|toml|md)$|^\.npmrc$/.test(name));
  const paths = [...names.filter((name) => name !== 'package-lock.json'), ...FOLDERS.flatMap(walk)];
  return paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The TypeScript files beneath `folders`. */
export function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap(walk).flatMap((path) => (path.endsWith('.ts') ? [sourceOf(path)] : []));
}

export function sourceOf(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
  const imports = [...code.matchAll(IMPORT)].map(([statement, from, bare]) =>
    importOf(path, from ?? bare ?? '', statement.startsWith('import type')),
  );
  return { path, text, code, imports };
}

const IMPORT =
  /(?:import|export)(?: type)?\s[\w\s{},*]*?from\s*'([^']+)'|\bimport\s*(?:\(\s*)?(?:\/\*.*?\*\/\s*)?'([^']+)'/g;

function importOf(path: string, specifier: string, typeOnly: boolean): Import {
  const ours = specifier.startsWith('.');
  return {
    specifier,
    file: ours ? posix.join(posix.dirname(path), specifier) : undefined,
    package: ours ? undefined : packageOf(specifier),
    typeOnly,
  };
}

function packageOf(specifier: string): string {
  if (/^(node|cloudflare):/.test(specifier)) return specifier;
  const parts = specifier.split('/');
  return parts.slice(0, specifier.startsWith('@') ? 2 : 1).join('/');
}

function walk(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => posix.join(folder, entry.parentPath.slice(join(ROOT, folder).length), entry.name));
}
