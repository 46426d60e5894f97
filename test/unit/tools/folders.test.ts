/** The folders of the program: the directions between the folders of each part, circles of imports, and sizes (ARCH-2 to ARCH-4). */
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { projectFiles, type Source, sourcesIn } from '../../support/tools/sources.ts';

const program = sourcesIn('shared', 'control-plane', 'agent');

/**
 * For each part, what its folders may import of the same part: folders, or files directly in the part. Every folder may
 * also import itself; architecture.test.ts has the directions between parts. A row names only rows above it.
 */
const DIRECTIONS: Record<string, Record<string, readonly string[]>> = {
  'control-plane/core': {
    model: [],
    accounts: ['model'],
    shop: ['accounts'],
    scheduling: ['model', 'accounts'],
    state: ['model', 'accounts', 'scheduling'],
    hosts: ['model', 'scheduling', 'state'],
    lifecycle: ['model', 'scheduling', 'state', 'hosts'],
    views: ['model', 'accounts', 'scheduling', 'state', 'hosts'],
    streams: ['model', 'accounts', 'state', 'views'],
  },
  'control-plane/store': {
    db: [],
    schema: ['db'],
    accounts: ['db'],
    cluster: ['db', 'schema', 'accounts'],
    executions: ['db'],
  },
  'control-plane/operations': {
    accounts: ['context.ts', 'stream-access.ts'],
    cluster: ['context.ts', 'accounts'],
    executions: ['context.ts', 'input.ts', 'stream-access.ts'],
    shop: ['context.ts', 'executions'],
  },
  'control-plane/coordinator': {
    agents: ['ports.ts', 'turns.ts'],
    streams: ['ports.ts', 'turns.ts', 'turn-inputs.ts', 'agents'],
    runtime: ['ports.ts', 'coordinator-api.ts', 'agents', 'coordinator.ts'],
  },
  'control-plane/http': {
    json: ['words.ts'],
    resources: ['words.ts', 'request.ts', 'json'],
    variants: ['words.ts', 'text-stream.ts', 'json', 'resources'],
    openapi: ['request.ts', 'json', 'variants'],
    routes: ['words.ts', 'request.ts', 'files.ts', 'text-stream.ts', 'json', 'variants', 'openapi'],
  },
  agent: {
    engine: ['sleep.ts', 'system-programs.ts', 'with-resolvers.ts'],
    host: ['config.ts', 'logger.ts', 'sleep.ts', 'system-programs.ts', 'engine'],
    logs: ['logger.ts', 'sleep.ts', 'engine'],
    services: ['logger.ts', 'sleep.ts', 'engine', 'logs'],
    connection: ['backoff.ts', 'config.ts', 'logger.ts', 'sleep.ts', 'host', 'logs', 'services'],
    local: ['agent-process.ts', 'system-programs.ts', 'engine', 'host', 'connection'],
  },
};

/** The folder or file of a part that a path is in: `queue.ts` of core is in `scheduling`; undefined outside of the part. */
const placeIn = (part: string, path: string): string | undefined =>
  path.startsWith(`${part}/`) ? path.slice(part.length + 1).split('/')[0] : undefined;

describe.each(Object.entries(DIRECTIONS))('%s', (part, rows) => {
  test.each(Object.entries(rows))('%s imports only what its row names', (folder, allowed) => {
    const wrong = sourcesIn(`${part}/${folder}`).flatMap(({ path, imports }) =>
      imports.flatMap(({ file = '' }) => {
        const place = placeIn(part, file);
        const isAllowed = place === undefined || place === folder || allowed.includes(place);
        return isAllowed ? [] : [`${path} imports ${file}: ${folder} may import ${allowed.join(', ')}`];
      }),
    );
    expect(wrong).toEqual([]);
  });
  test('each row names only rows above it', () => {
    const folders = Object.keys(rows);
    const wrong = folders.flatMap((folder, at) =>
      (rows[folder] ?? [])
        .filter((one) => !one.endsWith('.ts') && !folders.slice(0, at).includes(one))
        .map((one) => `${folder} names ${one}`),
    );
    expect(wrong).toEqual([]);
  });
  test('each folder with sources has a row', () => {
    const folders = program.flatMap(({ path }) => placeIn(part, path) ?? []);
    const unknown = folders.filter((folder) => !folder.endsWith('.ts') && !(folder in rows));
    expect([...new Set(unknown)]).toEqual([]);
  });
});

/** A circle of imports as a list of paths that begins and ends with the same file; undefined if there is none. */
function circleIn(sources: readonly Pick<Source, 'path' | 'imports'>[]): string[] | undefined {
  const importsOf = new Map(sources.map(({ path, imports }) => [path, imports]));
  const done = new Set<string>();
  const visit = (path: string, way: readonly string[]): string[] | undefined => {
    if (way.includes(path)) return [...way.slice(way.indexOf(path)), path];
    if (done.has(path)) return undefined;
    for (const { file } of importsOf.get(path) ?? []) {
      const circle = file === undefined ? undefined : visit(file, [...way, path]);
      if (circle) return circle;
    }
    done.add(path);
    return undefined;
  };
  for (const { path } of sources) {
    const circle = visit(path, []);
    if (circle) return circle;
  }
  return undefined;
}

describe('circles of imports', () => {
  test('there are none in the program, not even of types', () => {
    expect(circleIn(program)?.join(' -> ')).toBeUndefined();
  });
  test('a circle is found with its files', () => {
    const source = (path: string, ...files: string[]) => ({
      path,
      imports: files.map((file) => ({ specifier: file, file, package: undefined, typeOnly: true })),
    });
    const sources = [source('a', 'b'), source('b', 'c', 'd'), source('c'), source('d', 'b')];
    expect(circleIn(sources)).toEqual(['b', 'd', 'b']);
    expect(circleIn(sources.slice(0, 3))).toBeUndefined();
  });
});

describe('sizes', () => {
  const MAX_FILES = 16;
  const files = projectFiles().map(({ path }) => path);
  const folders = Map.groupBy(files, (path) => posix.dirname(path));

  test(`no folder has more than ${MAX_FILES} files`, () => {
    const large = [...folders].filter(([folder, { length }]) => folder !== '.' && length > MAX_FILES);
    expect(large.map(([folder, { length }]) => `${folder} has ${length} files: divide it`)).toEqual([]);
  });
});
