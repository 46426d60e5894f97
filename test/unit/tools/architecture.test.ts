/** The architecture: which folder may import which, circles of imports, and what must stay pure (ARCH-2). */
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Import, loadedBy, type Source, sourceOf, sourcesIn } from '../../support/tools/sources.ts';

const program = sourcesIn('shared', 'control-plane', 'agent', 'client', 'cli');

/**
 * What each folder may import besides itself, `shared/` and packages. Each block is one part of the program.
 * A name is a folder of the part with all beneath it, or one file; `type` before it allows types only. A row
 * names only rows above it, or files of the part's root. The files at the root of a part combine it and have
 * no row.
 */
const MAY_IMPORT: Record<string, Record<string, readonly string[]>> = {
  '.': {
    shared: [],
    'control-plane': [],
    agent: [],
    client: ['type control-plane/http/accounts', 'type control-plane/http/json'],
    cli: ['client'],
  },
  cli: {
    terminal: [],
    compose: [],
    machine: [],
    inputs: ['terminal'],
    completion: [],
    accounts: ['terminal', 'inputs'],
    streams: ['terminal', 'inputs'],
    commands: [
      'contexts.ts',
      'description.ts',
      'output.ts',
      'submission.ts',
      'waiting.ts',
      'terminal',
      'inputs',
      'completion',
      'machine',
    ],
  },
  'cli/compose': { variables: ['remarks.ts', 'type schema.ts'] },
  shared: { archives: [], streams: [], protocol: ['streams'], settings: ['sizes.ts', 'streams'] },
  'control-plane': {
    core: [],
    store: ['core'],
    guard: ['core', 'type coordinator/ports.ts'],
    coordinator: ['store', 'core', 'guard/allowance.ts', 'guard/message-allowance.ts'],
    operations: ['store', 'guard', 'core', 'type coordinator/coordinator-api.ts'],
    directory: ['core', 'type coordinator/ports.ts', 'type operations/passwords/password-source.ts'],
    http: ['operations', 'guard', 'core', 'store/db/db.ts', 'version.ts'],
    web: ['http', 'operations', 'guard', 'core'],
    server: [
      'http',
      'guard',
      'core',
      'coordinator/streams',
      'coordinator/runtime/refuse-upgrade.ts',
      'coordinator/apps',
    ],
    local: ['config.ts', 'settings.ts', 'version.ts', 'operations/shop/shop-files.ts', 'http/files.ts'],
  },
  'control-plane/core': {
    model: [],
    apps: [],
    accounts: ['model'],
    shop: ['accounts'],
    scheduling: ['model', 'accounts'],
    state: ['model', 'accounts', 'scheduling'],
    hosts: ['model', 'accounts', 'scheduling', 'state'],
    lifecycle: ['model', 'scheduling', 'state', 'hosts'],
    views: ['model', 'apps', 'accounts', 'scheduling', 'state', 'hosts'],
    metrics: ['model', 'accounts', 'state', 'views'],
    streams: ['model', 'accounts', 'state', 'views'],
  },
  'control-plane/store': {
    db: [],
    schema: ['db'],
    accounts: ['db'],
    cluster: ['db', 'schema', 'accounts'],
    executions: ['db'],
  },
  'control-plane/coordinator': {
    epoch: ['ports.ts', 'type turn-inputs.ts'],
    sleep: ['ports.ts', 'type turns.ts'],
    connections: ['ports.ts'],
    agents: ['ports.ts', 'turns.ts', 'sleep', 'connections'],
    changes: ['ports.ts', 'turns.ts', 'turn-inputs.ts'],
    gateways: ['ports.ts', 'type sleep', 'connections', 'agents'],
    streams: ['ports.ts', 'turns.ts', 'turn-inputs.ts', 'connections', 'agents'],
    apps: ['type ports.ts', 'streams'],
    runtime: [
      'ports.ts',
      'coordinator-api.ts',
      'coordinator.ts',
      'sleep',
      'connections',
      'agents',
      'gateways',
      'streams',
      'apps',
    ],
  },
  'control-plane/coordinator/runtime': { apps: [] },
  'control-plane/operations': {
    passwords: [],
    accounts: ['context.ts', 'access-review.ts', 'audit.ts', 'passwords'],
    cluster: ['context.ts', 'audit.ts', 'accounts'],
    secrets: ['context.ts', 'audit.ts', 'app-addresses.ts'],
    executions: ['secrets', 'context.ts', 'audit.ts', 'input.ts', 'access-review.ts', 'app-addresses.ts'],
    shop: ['context.ts', 'executions'],
    'sign-on': ['context.ts', 'access-review.ts', 'accounts', 'type passwords'],
    apps: ['context.ts', 'app-addresses.ts', 'accounts', 'executions', 'sign-on'],
  },
  'control-plane/http': {
    json: ['words.ts'],
    accounts: ['json'],
    api: [
      'request.ts',
      'idempotency.ts',
      'text-stream.ts',
      'cross-site.ts',
      'install.ts',
      'type variant.ts',
      'type words.ts',
      'json',
      'accounts',
    ],
    variants: [
      'request.ts',
      'idempotency.ts',
      'text-stream.ts',
      'type variant.ts',
      'type words.ts',
      'json',
      'accounts',
      'api',
    ],
    routes: ['request.ts', 'files.ts', 'http-counts.ts', 'type variant.ts', 'type words.ts', 'json', 'api'],
    apps: ['request.ts', 'strict-transport.ts', 'json', 'type routes'],
  },
  'control-plane/web': {
    components: ['type context.ts', 'error-page.ts'],
    description: ['components'],
    browser: ['components'],
    pages: ['context.ts', 'session.ts', 'error-page.ts', 'components', 'description'],
  },
  'control-plane/local': { assets: ['shop-folder.ts'] },
  agent: {
    engine: ['logger.ts', 'sleep.ts', 'system-programs.ts', 'with-resolvers.ts'],
    host: ['config.ts', 'logger.ts', 'sleep.ts', 'system-programs.ts', 'engine'],
    logs: ['logger.ts', 'sleep.ts', 'engine'],
    channels: ['logger.ts', 'with-resolvers.ts', 'logs', 'type engine'],
    services: ['logger.ts', 'sleep.ts', 'engine', 'logs'],
    connection: [
      'backoff.ts',
      'config.ts',
      'logger.ts',
      'sleep.ts',
      'host',
      'logs',
      'services',
      'channels',
      'type engine',
    ],
    update: ['logger.ts', 'sleep.ts', 'connection'],
    local: ['agent-process.ts', 'system-programs.ts', 'engine', 'host', 'connection'],
  },
  'agent/engine': {
    folders: ['engine.ts'],
    images: ['engine.ts'],
    networks: ['docker-error.ts', 'engine.ts', 'labels.ts'],
    health: ['docker-error.ts', 'engine.ts', 'labels.ts'],
    pulls: ['docker-error.ts', 'engine.ts', 'json-lines.ts', 'images', 'type folders'],
    processes: [],
    docker: [
      'docker-error.ts',
      'json-lines.ts',
      'pulls',
      'engine.ts',
      'engine-files.ts',
      'labels.ts',
      'capabilities.ts',
      'cpu-allocation.ts',
      'images',
      'folders',
      'networks',
      'health',
      'processes',
    ],
    streams: ['docker-error.ts', 'labels.ts', 'processes'],
  },
};

/**
 * Imports of single files that the table does not allow: they wire one part to another where a program
 * starts.
 */
const EXCEPTIONS: readonly [from: string, to: string][] = [
  ['control-plane/coordinator/runtime/durable-object.ts', 'control-plane/assembly.ts'],
  ['control-plane/coordinator/runtime/gateway-object.ts', 'control-plane/assembly.ts'],
  ['control-plane/local/dev.ts', 'control-plane/operations/cluster/join-tokens.ts'],
  ['control-plane/local/database-copy.ts', 'control-plane/store/db/db.ts'],
  ['control-plane/local/database-copy.ts', 'control-plane/store/db/embedded.ts'],
  ['control-plane/local/database-copy.ts', 'control-plane/store/schema/backup.ts'],
  ['control-plane/local/open-database.ts', 'control-plane/store/db/db.ts'],
  ['control-plane/local/open-database.ts', 'control-plane/store/db/embedded.ts'],
  ['control-plane/local/open-database.ts', 'control-plane/store/db/libsql-client.ts'],
  ['control-plane/local/open-database.ts', 'control-plane/store/db/remote.ts'],
];

const isBeneath = (path: string, folder: string): boolean => folder === '.' || path.startsWith(`${folder}/`);

/**
 * The row of a part that a path belongs to: `queue.ts` of core belongs to `scheduling`; undefined outside the
 * part.
 */
const rowOf = (part: string, path: string): string | undefined =>
  isBeneath(path, part) ? (part === '.' ? path : path.slice(part.length + 1)).split('/')[0] : undefined;

function isAllowed(part: string, row: string, allowed: readonly string[], one: Import): boolean {
  const { file = '', typeOnly } = one;
  if (file.startsWith('shared/') && part !== 'shared') return true;
  const target = rowOf(part, file);
  if (target === undefined || target === row) return true;
  const path = part === '.' ? file : file.slice(part.length + 1);
  return allowed.some((entry) => {
    const name = entry.replace(/^type /, '');
    return (name === path || isBeneath(path, name)) && (typeOnly || name === entry);
  });
}

describe.each(Object.entries(MAY_IMPORT))('%s', (part, rows) => {
  test.each(Object.entries(rows))('%s imports only what its row names', (row, allowed) => {
    const folder = part === '.' ? row : `${part}/${row}`;
    const wrong = program
      .filter(({ path }) => isBeneath(path, folder))
      .flatMap(({ path, imports }) =>
        imports
          .filter((one) => one.file && one.file !== 'package.json' && !isAllowed(part, row, allowed, one))
          .filter(({ file }) => !EXCEPTIONS.some(([from, to]) => from === path && to === file))
          .map(
            ({ file }) => `${path} imports ${file}: ${folder} may import ${allowed.join(', ') || 'itself'}`,
          ),
      );
    expect(wrong).toEqual([]);
  });
  test('each row names only rows above it, and what it names is imported', () => {
    const names = Object.keys(rows);
    const wrong = names.flatMap((row, at) =>
      (rows[row] ?? []).flatMap((entry) => {
        const [name = ''] = entry.replace(/^type /, '').split('/');
        const isFile = entry.endsWith('.ts');
        if (!isFile && !names.slice(0, at).includes(name))
          return [`${row} names ${entry}, which is not above it`];
        const target = `${part === '.' ? '' : `${part}/`}${entry.replace(/^type /, '')}`;
        const folder = part === '.' ? row : `${part}/${row}`;
        const isUsed = program.some(
          ({ path, imports }) =>
            isBeneath(path, folder) &&
            imports.some(({ file = '' }) => file === target || isBeneath(file, target)),
        );
        return isUsed ? [] : [`${row} names ${entry} and does not import it`];
      }),
    );
    expect(wrong).toEqual([]);
  });
  test('each folder with sources has a row', () => {
    const folders = program.flatMap(({ path }) => rowOf(part, path) ?? []);
    const unknown = folders.filter((folder) => !folder.endsWith('.ts') && !(folder in rows));
    expect([...new Set(unknown)]).toEqual([]);
  });
});

test('each folder that has folders is a part of the table', () => {
  const parents = program.map(({ path }) => posix.dirname(posix.dirname(path)));
  // The pages have one folder for each section, and all of these are alike.
  const unknown = parents.filter(
    (parent) =>
      !(parent in MAY_IMPORT) && !['control-plane/web/pages', 'control-plane/web/browser'].includes(parent),
  );
  expect([...new Set(unknown)]).toEqual([]);
});

/**
 * A circle of imports as a list of paths that begins and ends with the same file; undefined if there is none.
 */
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

test('there are no circles of imports in the program, not even of types', () => {
  expect(circleIn(program)?.join(' -> ')).toBeUndefined();
});
test('a circle of imports is found with its files', () => {
  const source = (path: string, ...files: string[]) => ({
    path,
    imports: files.map((file) => ({ specifier: file, file, package: undefined, typeOnly: true })),
  });
  const sources = [source('a', 'b'), source('b', 'c', 'd'), source('c'), source('d', 'b')];
  expect(circleIn(sources)).toEqual(['b', 'd', 'b']);
  expect(circleIn(sources.slice(0, 3))).toBeUndefined();
});

const beneath = (folder: string) => program.filter(({ path }) => isBeneath(path, folder));
const importing = (sources: readonly Source[], isWrong: (one: Import) => boolean): string[] =>
  sources.flatMap(({ path, imports }) =>
    imports.filter(isWrong).map(({ specifier }) => `${path} imports ${specifier}`),
  );

test('the coordinator imports no package outside its runtime folder: neither Hono, workerd nor Node', () => {
  const runtime = 'control-plane/coordinator/runtime';
  const sources = beneath('control-plane/coordinator').filter(({ path }) => !isBeneath(path, runtime));
  expect(importing(sources, (one) => one.package !== undefined)).toEqual([]);
});
test('the store imports nothing of Node outside the embedded database', () => {
  const embedded = ['control-plane/store/db/embedded.ts', 'control-plane/store/db/statement-cache.ts'];
  const sources = beneath('control-plane/store').filter(({ path }) => !embedded.includes(path));
  const isWrong = (one: Import) => !!one.package?.startsWith('node:') || embedded.includes(one.file ?? '');
  expect(importing(sources, isWrong)).toEqual([]);
});
test('the Worker loads no package that needs Node', () => {
  const nodeOnly = ['libsql', 'ws', '@hono/node-server', 'dockerode'];
  const offered = ['node:crypto', 'node:async_hooks'];
  const isWrong = ({ package: name = '' }: Import) =>
    nodeOnly.includes(name) || (name.startsWith('node:') && !offered.includes(name));
  expect(importing(loadedBy('control-plane/worker.ts'), isWrong)).toEqual([]);
});

/** These let the work of others wait, and need promises and a timer for it. */
const waiting = ['shared/fair-queue.ts', 'shared/streams/credit.ts'];
const inFolders = sourcesIn('control-plane/core', 'shared').filter(({ path }) => !waiting.includes(path));
const guards = ['allowance', 'connection-places', 'login-queue', 'unread-answers'];
const pure = [
  ...inFolders,
  ...guards.map((name) => sourceOf(`control-plane/guard/${name}.ts`)),
  sourceOf('agent/services/plan.ts'),
];
const FORBIDDEN: readonly [RegExp, string][] = [
  [/\bDate\b|\bperformance\b/, 'the clock'],
  [/\bMath\.random\b|\bcrypto\b/, 'chance'],
  [/\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b/, 'timers'],
  [/\bconsole\b|\bprocess\b|\bfetch\b/, 'the world outside'],
  [/\basync\b|\bawait\b|\bPromise\b/, 'waiting'],
];
const withoutTexts = (code: string): string => code.replace(/'[^'\n]*'|`[^`]*`/g, "''");

test.each(FORBIDDEN)('pure files do not use what matches %s', (pattern, what) => {
  const broken = pure.filter(({ code }) => pattern.test(withoutTexts(code)));
  expect(broken.map(({ path }) => `${path} must be pure, and uses ${what}`)).toEqual([]);
});
test("the agent's plan imports only types and shared", () => {
  const { imports } = sourceOf('agent/services/plan.ts');
  const wrong = imports.filter(({ file, typeOnly }) => !typeOnly && !file?.startsWith('shared/'));
  expect(wrong.map(({ specifier }) => specifier)).toEqual([]);
});
