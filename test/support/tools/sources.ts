/**
 * Reads the project's own files, for tests of its structure. Paths are relative to the repository, with `/`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const ROOT = join(import.meta.dirname, '../../..');
export const FOLDERS = [
  'shared',
  'control-plane',
  'agent',
  'cli',
  'client',
  'release',
  'examples',
  'docs',
  'test',
  'tools',
  '.ci',
];

export interface Import {
  /** As written in the source. */
  specifier: string;
  /** Path of the imported file, for files of the project. */
  file: string | undefined;
  /** Name of the imported package or module, for others. */
  package: string | undefined;
  typeOnly: boolean;
}

export interface Source {
  path: string;
  text: string;
  /** The text without comments. */
  code: string;
  imports: Import[];
}

/** Every text file of the project, except for generated ones. */
export function projectFiles(): { path: string; text: string }[] {
  const top = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isFile());
  const names = top.map(({ name }) => name).filter((name) => /\.(ts|json|toml|md)$|^\.npmrc$/.test(name));
  const paths = [...names.filter((name) => name !== 'package-lock.json'), ...FOLDERS.flatMap(walk)];
  return paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

/** The TypeScript files below `folders`. */
export function sourcesIn(...folders: string[]): Source[] {
  return folders.flatMap(walk).flatMap((path) => (path.endsWith('.ts') ? [sourceOf(path)] : []));
}

export function sourceOf(path: string): Source {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
  const imports = [...code.matchAll(IMPORT)].map(([statement, from, bare]) =>
    importOf(path, from ?? bare ?? '', /^(import|export) type\b/.test(statement)),
  );
  return { path, text, code, imports };
}

/** Some files and everything that they import when they run, directly or not. */
export function loadedBy(...entries: string[]): Source[] {
  const loaded = new Map<string, Source>();
  const load = (path: string) => {
    if (loaded.has(path)) return;
    const source = sourceOf(path);
    loaded.set(path, source);
    for (const { file, typeOnly } of source.imports) if (file?.endsWith('.ts') && !typeOnly) load(file);
  };
  entries.forEach(load);
  return [...loaded.values()];
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

export interface Comment {
  /** The text without its marks, on one line. */
  words: string;
  /** Lines of the file, from 0. */
  first: number;
  last: number;
}

/**
 * Texts and regular expressions come first in each pattern, so that marks of comments in them are passed
 * over.
 */
const COMMENT =
  /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[=(,:&|?]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\n])*\]|[^/\\\n])+\/|\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/[^\n]*(?:\n[ \t]*\/\/[^\n]*)*/g;
const SHELL_COMMENT = /(?<=^|\n)[ \t]*#(?!!)[^\n]*(?:\n[ \t]*#[^\n]*)*/g;

/** The comments of a source: each block, and each run of line comments, also behind code. */
export function commentsOf({ path, text }: { path: string; text: string }): Comment[] {
  const pattern = /\.(sh|toml)$|Dockerfile$/.test(path) ? SHELL_COMMENT : COMMENT;
  return [...text.matchAll(pattern)].flatMap(({ 0: found, index }) => {
    if (pattern === COMMENT && !/^\/[/*]/.test(found)) return [];
    const words = found
      .split('\n')
      .map((line) => line.replace(/^\s*(\/\*+|\*\/|\*|\/\/|#)? ?/, '').replace(/\s*\*\/$/, ''))
      .join(' ')
      .trim();
    const first = text.slice(0, index).split('\n').length - 1;
    return [{ words, first, last: first + found.split('\n').length - 1 }];
  });
}
