import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Import, projectFiles, type Source, sourceOf, sourcesIn } from '../../support/tools/sources.ts';

const rooms = sourcesIn('shared', 'control-plane', 'agent');
const isIn = (path: string, owner: string): boolean =>
  owner.endsWith('/') ? path.startsWith(owner) : path === owner;
const isInAny = (path: string, owners: readonly string[]): boolean =>
  owners.some((owner) => isIn(path, owner));

/** Imports that break a wall, as sentences that name the file and the wall. */
function breaches(
  sources: Source[],
  wall: string,
  allows: (one: Import, source: Source) => boolean,
): string[] {
  return sources.flatMap((source) =>
    source.imports
      .filter((one) => !allows(one, source))
      .map(({ specifier }) => `${source.path} imports ${specifier}: ${wall}`),
  );
}

const beneath = (folder: string) => rooms.filter(({ path }) => path.startsWith(folder));

test('the reader of imports finds them all: the files are there and import each other', () => {
  expect(rooms.length).toBeGreaterThan(80);
  const files = new Set(rooms.map(({ path }) => path));
  const lost = rooms.flatMap(({ path, imports }) =>
    imports.flatMap(({ file, specifier }) =>
      file === undefined || files.has(file) || file.endsWith('.json') ? [] : [`${path} imports ${specifier}`],
    ),
  );
  expect(lost).toEqual([]);
  for (const { path, code, imports } of rooms) {
    expect([path, imports.length]).toEqual([
      path,
      [...code.matchAll(/^(import|} from|export .* from)\b.*'|\bimport\('/gm)].length,
    ]);
  }
});

describe('rooms', () => {
  test('shared imports zod and itself only', () => {
    const wall = 'shared imports zod only';
    expect(
      breaches(
        beneath('shared/'),
        wall,
        ({ file, package: name }) => name === 'zod' || !!file?.startsWith('shared/'),
      ),
    ).toEqual([]);
  });
  test('control plane and agent never import each other', () => {
    const to = (room: string) => (one: Import) => !one.file?.startsWith(room);
    expect([
      ...breaches(beneath('control-plane/'), 'the control plane never imports the agent', to('agent/')),
      ...breaches(beneath('agent/'), 'the agent never imports the control plane', to('control-plane/')),
    ]).toEqual([]);
  });
  test('no room imports tests or examples', () => {
    const allows = ({ file }: Import) => !file || !/^(test|examples)\//.test(file);
    expect(breaches(rooms, 'the program does not need its tests', allows)).toEqual([]);
  });
});

describe('the control plane', () => {
  /** Room to what of the control plane it may import; all may import shared. */
  const MAY_IMPORT: Record<string, readonly string[]> = {
    core: ['core/'],
    store: ['store/', 'core/'],
    operations: ['operations/', 'store/', 'core/'],
    coordinator: ['coordinator/', 'store/', 'core/'],
    http: ['http/', 'operations/', 'core/', 'store/db/db.ts', 'version.ts'],
    web: ['web/', 'http/', 'operations/', 'core/', 'version.ts'],
    local: ['local/', 'config.ts', 'version.ts'],
  };
  /** Exceptions: file or room, what it imports, and whether only as a type. */
  const EXCEPTIONS: readonly { from: string; to: string; typeOnly: boolean }[] = [
    { from: 'operations/', to: 'coordinator/coordinator-api.ts', typeOnly: true },
    { from: 'coordinator/runtime/durable-object.ts', to: 'assembly.ts', typeOnly: false },
    { from: 'local/assets/agent-files.ts', to: 'http/files.ts', typeOnly: true },
    { from: 'local/assets/generated-files.ts', to: 'http/files.ts', typeOnly: true },
    { from: 'local/dev.ts', to: 'operations/cluster/join-tokens.ts', typeOnly: false },
    { from: 'local/', to: 'operations/shop/shop-files.ts', typeOnly: false },
    { from: 'local/dev.ts', to: 'store/db/remote.ts', typeOnly: false },
  ];

  test.each(Object.entries(MAY_IMPORT))('%s imports only what it may', (room, allowed) => {
    const wall = `control-plane/${room} may import ${allowed.join(', ')} and shared`;
    const allows = ({ file, typeOnly }: Import, { path }: Source) => {
      if (file === undefined || file.startsWith('shared/')) return true;
      const from = posix.relative('control-plane', path);
      const to = posix.relative('control-plane', file);
      return (
        isInAny(to, allowed) ||
        EXCEPTIONS.some((one) => isIn(from, one.from) && one.to === to && (typeOnly || !one.typeOnly))
      );
    };
    expect(breaches(beneath(`control-plane/${room}/`), wall, allows)).toEqual([]);
  });
  test('every room of it is in the table', () => {
    const unknown = beneath('control-plane/')
      .map(({ path }) => path.split('/'))
      .filter(([, room, file]) => file !== undefined && !(room && room in MAY_IMPORT))
      .map((parts) => parts.join('/'));
    expect(unknown).toEqual([]);
  });
  test('the coordinator knows neither Hono, workerd nor Node', () => {
    const runtime = 'control-plane/coordinator/runtime/';
    const sources = beneath('control-plane/coordinator/').filter(({ path }) => !path.startsWith(runtime));
    const wall = 'the coordinator, but for its runtime folder, imports no package';
    expect(breaches(sources, wall, (one) => one.package === undefined)).toEqual([]);
  });
  test('the store, but for the embedded database, imports nothing of Node', () => {
    const embedded = ['control-plane/store/db/embedded.ts', 'control-plane/store/db/statement-cache.ts'];
    const sources = beneath('control-plane/store/').filter(({ path }) => !embedded.includes(path));
    const wall = 'it runs on workerd';
    const allows = (one: Import) => !one.package?.startsWith('node:') && !embedded.includes(one.file ?? '');
    expect(breaches(sources, wall, allows)).toEqual([]);
  });
  test('what the worker loads needs no package of Node', () => {
    const nodeOnly = ['libsql', 'ws', '@hono/node-server', 'dockerode'];
    const loaded = loadedBy('control-plane/worker.ts');
    const allows = ({ package: name = '' }: Import) =>
      !nodeOnly.includes(name) && (!name.startsWith('node:') || name === 'node:crypto');
    expect(breaches(loaded, 'the worker loads it', allows)).toEqual([]);
  });
});

/** A file and all that it imports, directly or not, when it runs. */
function loadedBy(entry: string): Source[] {
  const loaded = new Map<string, Source>();
  const load = (path: string) => {
    if (loaded.has(path)) return;
    const source = sourceOf(path);
    loaded.set(path, source);
    for (const { file, typeOnly } of source.imports) if (file?.endsWith('.ts') && !typeOnly) load(file);
  };
  load(entry);
  return [...loaded.values()];
}

describe('pure files', () => {
  const pure = [...beneath('control-plane/core/'), ...beneath('shared/'), sourceOf('agent/services/plan.ts')];
  const FORBIDDEN: readonly [RegExp, string][] = [
    [/\bDate\b|\bperformance\b/, 'the clock'],
    [/\bMath\.random\b|\bcrypto\b/, 'chance'],
    [/\b(setTimeout|setInterval|setImmediate|queueMicrotask)\b/, 'timers'],
    [/\bconsole\b|\bprocess\b|\bfetch\b/, 'the world outside'],
    [/\basync\b|\bawait\b|\bPromise\b/, 'waiting'],
  ];
  test.each(FORBIDDEN)('know nothing of what matches %s', (pattern, what) => {
    const broken = pure.filter(({ code }) => pattern.test(withoutTexts(code)));
    expect(broken.map(({ path }) => `${path} is pure, and uses ${what}`)).toEqual([]);
  });
  test('plan.ts imports types and shared only', () => {
    const wall = 'the plan is pure: it imports types and shared only';
    const allows = (one: Import) => one.typeOnly || !!one.file?.startsWith('shared/');
    expect(breaches([sourceOf('agent/services/plan.ts')], wall, allows)).toEqual([]);
  });
});

const withoutTexts = (code: string): string => code.replace(/'[^'\n]*'|`[^`]*`/g, "''");

describe('packages', () => {
  /** Package to the only files or folders that may import it. Tests are free. */
  const OWNERS: Record<string, readonly string[]> = {
    zod: [
      'shared/',
      'control-plane/config.ts',
      'control-plane/operations/',
      'control-plane/http/',
      'control-plane/web/',
      'agent/config.ts',
      'agent/engine/docker/registry-auth.ts',
      'agent/connection/key-file.ts',
      'agent/services/lease.ts',
    ],
    hono: ['control-plane/app.ts', 'control-plane/http/', 'control-plane/web/'],
    uplot: ['control-plane/web/browser/charts.ts'],
    anser: ['control-plane/web/browser/logs/log-colours.ts'],
    idiomorph: ['control-plane/web/browser/parts/live.ts'],
    'jsonc-parser': ['control-plane/web/description/json-text.ts'],
    '@hono/node-server': ['control-plane/node-server.ts'],
    'hono-openapi': ['control-plane/http/openapi/document.ts'],
    libsql: ['control-plane/store/db/embedded.ts', 'control-plane/store/db/statement-cache.ts'],
    '@libsql/client': ['control-plane/store/db/remote.ts'],
    'cloudflare:workers': ['control-plane/coordinator/runtime/durable-object.ts'],
    jose: [
      'control-plane/operations/accounts/tokens.ts',
      'control-plane/operations/cluster/agent-proof.ts',
      'agent/connection/identity.ts',
    ],
    ws: ['control-plane/coordinator/runtime/node-sockets.ts', 'agent/connection/socket.ts'],
    dockerode: ['agent/engine/docker/', 'agent/engine/engine-address.ts', 'examples/image.ts'],
    esbuild: ['control-plane/local/assets/agent-bundle.ts', 'control-plane/local/assets/web-files.ts'],
    micromark: ['control-plane/web/components/markdown.ts'],
    'micromark-extension-gfm': ['control-plane/web/components/markdown.ts'],
    'tar-stream': ['examples/busybox.ts'],
  };
  const sources = [...rooms, ...sourcesIn('examples')];

  test('each has its owners, and nobody else imports it', () => {
    const allows = ({ package: name }: Import, { path }: Source) =>
      name === undefined || name.startsWith('node:') || isInAny(path, OWNERS[name] ?? []);
    expect(breaches(sources, 'the package has other owners, or none', allows)).toEqual([]);
  });
  test('fast-check comes with its seed', () => {
    const allows = ({ package: name }: Import, { path }: Source) =>
      name !== 'fast-check' || path === 'test/support/tools/random-cases.ts';
    expect(breaches(sourcesIn('test'), 'random cases are those of random-cases.ts', allows)).toEqual([]);
  });
  test('each owner is one', () => {
    const idle = Object.entries(OWNERS).flatMap(([name, owners]) =>
      owners
        .filter(
          (owner) =>
            !sources.some(
              ({ path, imports }) => isIn(path, owner) && imports.some((one) => one.package === name),
            ),
        )
        .map((owner) => `${owner} does not import ${name}`),
    );
    expect(idle.filter((line) => !line.startsWith('control-plane/http/ does not import zod'))).toEqual([]);
  });
});

describe('files', () => {
  const MOST_LINES = 300;
  test(`none of the program is longer than ${MOST_LINES} lines`, () => {
    const long = [...rooms, ...sourcesIn('examples')].flatMap(({ path, text }) => {
      const lines = text.split('\n').length - 1;
      return lines > MOST_LINES ? [`${path} has ${lines} lines: split it`] : [];
    });
    expect(long).toEqual([]);
  });
  test('each of the program begins by saying what it owns', () => {
    const silent = rooms.filter(
      ({ path, text }) => !text.startsWith('/**') && path !== 'control-plane/version.ts',
    );
    expect(silent.map(({ path }) => `${path} does not begin with a doc comment`)).toEqual([]);
  });
  test('names are kebab-case', () => {
    const odd = [...rooms, ...sourcesIn('examples', 'test')].filter(
      ({ path }) => !/^([a-z0-9-]+\/)*[a-z0-9-]+(\.test|\.d)?\.ts$/.test(path),
    );
    expect(odd.map(({ path }) => path)).toEqual([]);
  });
  test('none speaks of this machine, or of what lies outside the repository', () => {
    const machine = new RegExp(`(^|[\\s"'\`(=])/(${['home', 'root', 'Users', 'work'].join('|')})/`, 'm');
    const outside = /(?:\.\.\/)+shared\b/g;
    const broken = projectFiles().flatMap(({ path, text }) => [
      ...(machine.test(text) ? [`${path} has an absolute path of a machine`] : []),
      ...[...text.matchAll(outside)]
        .filter(([found]) => !posix.join(posix.dirname(path), found).startsWith('shared'))
        .map(([found]) => `${path} speaks of ${found}, which is outside the repository`),
    ]);
    expect(broken).toEqual([]);
  });
});
