/** Packages: which files may import each one. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Import, loadedBy, type Source, sourcesIn } from '../../support/tools/sources.ts';

const MANIFEST = join(import.meta.dirname, '../../../package.json');
const sources = sourcesIn('shared', 'control-plane', 'agent', 'client', 'cli', 'release', 'examples');

/** The only files or folders that may import each package. Tests may import any. */
const OWNERS: Record<string, readonly string[]> = {
  zod: [
    'shared/',
    'cli/compose/schema.ts',
    'control-plane/settings.ts',
    'control-plane/config.ts',
    'control-plane/operations/',
    'control-plane/http/',
    'control-plane/web/',
    'agent/settings.ts',
    'agent/engine/images/image-record.ts',
    'agent/engine/images/registry-auth.ts',
    'agent/engine/pulls/pull-intents.ts',
    'agent/connection/key-file.ts',
    'agent/services/lease.ts',
  ],
  hono: ['control-plane/app.ts', 'control-plane/guard/', 'control-plane/http/', 'control-plane/web/'],
  uplot: ['control-plane/web/browser/charts.ts'],
  '@xterm/xterm': ['control-plane/web/browser/terminal/terminal-screen.ts'],
  anser: ['control-plane/web/browser/logs/log-colours.ts'],
  idiomorph: ['control-plane/web/browser/parts/live.ts'],
  'jsonc-parser': ['shared/json-faults.ts'],
  '@hono/node-server': ['control-plane/server/node-server.ts', 'control-plane/server/app-bodies.ts'],
  ldapts: ['control-plane/directory/connection.ts'],
  '@libsql/client': ['control-plane/store/db/libsql-client.ts'],
  libsql: ['control-plane/store/db/embedded.ts', 'control-plane/store/db/statement-cache.ts'],
  'cloudflare:workers': [
    'control-plane/coordinator/runtime/durable-object.ts',
    'control-plane/coordinator/runtime/gateway-object.ts',
  ],
  jose: [
    'control-plane/operations/secrets/seal.ts',
    'control-plane/operations/accounts/tokens.ts',
    'control-plane/operations/cluster/agent-proof.ts',
    'control-plane/operations/sign-on/envelope.ts',
    'agent/connection/identity.ts',
  ],
  oauth4webapi: ['control-plane/operations/sign-on/provider.ts'],
  ws: [
    'control-plane/coordinator/runtime/node-sockets.ts',
    'control-plane/server/stream-sockets.ts',
    'control-plane/server/app-sockets.ts',
    'agent/connection/socket.ts',
    'agent/engine/streams/websocket-target.ts',
    'client/streams.ts',
  ],
  dockerode: [
    'agent/engine/docker/',
    'agent/engine/folders/',
    'agent/engine/health/',
    'agent/engine/networks/',
    'agent/engine/pulls/',
    'agent/engine/streams/',
    'agent/engine/engine-address.ts',
    'examples/image.ts',
  ],
  esbuild: [
    'release/',
    'control-plane/local/assets/agent-bundle.ts',
    'control-plane/local/assets/bundle.ts',
    'control-plane/local/assets/web-files.ts',
  ],
  micromark: ['control-plane/web/components/markdown.ts'],
  'micromark-extension-gfm': ['control-plane/web/components/markdown.ts'],
  commander: ['cli/'],
  yaml: ['cli/compose/document.ts'],
  'tar-stream': ['release/', 'examples/busybox.ts'],
};

const isIn = (path: string, owner: string): boolean =>
  owner.endsWith('/') ? path.startsWith(owner) : path === owner;
const importing = (files: readonly Source[], isWrong: (one: Import, source: Source) => boolean): string[] =>
  files.flatMap((source) =>
    source.imports
      .filter((one) => isWrong(one, source))
      .map(({ specifier }) => `${source.path} imports ${specifier}`),
  );

test('only the owners of a package import it', () => {
  const isWrong = ({ package: name }: Import, { path }: Source) =>
    name !== undefined &&
    !name.startsWith('node:') &&
    !(OWNERS[name] ?? []).some((owner) => isIn(path, owner));
  expect(importing(sources, isWrong)).toEqual([]);
});

test('every owner imports its package', () => {
  const idle = Object.entries(OWNERS).flatMap(([name, owners]) =>
    owners
      .filter((owner) =>
        sources.every(
          ({ path, imports }) => !isIn(path, owner) || imports.every((one) => one.package !== name),
        ),
      )
      .map((owner) => `${owner} does not import ${name}`),
  );
  expect(idle).toEqual([]);
});

test('every package of production has an owner, but one whose files are served as they are', () => {
  const { dependencies } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { dependencies: object };
  expect(Object.keys(dependencies).filter((name) => !(name in OWNERS))).toEqual(['swagger-ui-dist']);
});

test('H550: only the entry on Node loads the directory and its library, and only where it is set', () => {
  const reached = loadedBy('control-plane/worker.ts', 'agent/main.ts', 'cli/main.ts');
  expect(reached.length).toBeGreaterThan(300);
  expect(importing(reached, (one) => one.package === 'ldapts')).toEqual([]);
  const loads = sources.filter(({ code }) => code.includes("'./directory/ldap-directory.ts'"));
  expect(loads.map(({ path }) => path)).toEqual(['control-plane/self-hosted.ts']);
  expect(loads[0]?.code).toContain("await import('./directory/ldap-directory.ts')");
});

test('tests import fast-check only with its seed, from random-cases.ts', () => {
  const isWrong = ({ package: name }: Import, { path }: Source) =>
    name === 'fast-check' && path !== 'test/support/tools/random-cases.ts';
  expect(importing(sourcesIn('test'), isWrong)).toEqual([]);
});
