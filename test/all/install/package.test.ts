/** The package as people get it: packed, installed with npm in an empty folder, and run from there. */
import { execFile } from 'node:child_process';
import { access, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Berth } from '../../../client/berth.ts';
import { VERSION } from '../../../control-plane/version.ts';
import { linkedFiles } from '../../../release/document-links.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { removeDeployment } from '../../support/engines/leftovers.ts';
import { type Program, startCommand } from '../../support/hosts/process.ts';
import { DIST, digestOf, type Release, TARBALL, thisRelease } from '../../support/releases/this-release.ts';
import { codeBlocksOf } from '../../support/tools/documents.ts';
import { pathWithNode20 } from '../../support/tools/runnable.ts';
import { suiteFolder } from '../../support/tools/test-folder.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const CONTEXT = `berth-control-plane-image-${VERSION}-${process.platform}-${process.arch}.tar.gz`;
const PASSWORD = 'words of an administrator';
const run = promisify(execFile);

const folder = suiteFolder();
let release: Release;
/** Search paths with `berth`, by the version of `node`. */
let paths: Record<20 | 24, string>;

beforeAll(async () => {
  release = await thisRelease();
  const programs = join(release.prefix, 'bin');
  const node24 = join(folder, 'node24');
  await mkdir(node24);
  await symlink(process.execPath, join(node24, 'node'));
  const without = (process.env.PATH ?? '').split(delimiter).filter((one) => !one.includes('node_modules'));
  await mkdir(join(folder, 'node20'));
  paths = {
    20: [programs, await pathWithNode20(join(folder, 'node20'))].join(delimiter),
    24: [node24, programs, ...without].join(delimiter),
  };
}, 300_000);

/** `berth` as it was installed, in a folder of its own. */
function berth(version: 20 | 24, words: string[], env: NodeJS.ProcessEnv = {}): Program {
  const PATH = paths[version];
  const home = {
    HOME: folder,
    NODE_COMPILE_CACHE: undefined,
    BERTH_DEPLOYMENT_NAME: `package-${process.pid}`,
  };
  return startCommand(['/bin/sh', '-c', 'exec berth "$@"', 'berth', ...words], {
    cwd: folder,
    env: { ...home, PATH, ...env },
  });
}

test('L85: a release has package, image contexts, SBOM and checksums, and its package does not depend on the umask', async () => {
  const images = ['berth-agent-image-VERSION.tar.gz', CONTEXT, 'compose.yaml', 'Caddyfile'];
  const names = ['berth-VERSION.cdx.json', TARBALL, ...images];
  const expected = names.map((name) => name.replace('VERSION', VERSION)).sort();
  expect((await readdir(DIST)).sort()).toEqual(['SHA256SUMS', ...expected].sort());
  const { stdout } = await run('sha256sum', ['--check', 'SHA256SUMS'], { cwd: DIST });
  expect(stdout).toBe(expected.map((name) => `${name}: OK\n`).join(''));
  expect(await digestOf(TARBALL)).toBe(release.packedByOthers);
});

test('L149: an installation compiles nothing, and runs no script of a package but that of esbuild', async () => {
  const packages = join(release.prefix, 'lib/node_modules/berth/node_modules');
  const files = await readdir(packages, { recursive: true });
  const manifests = files.filter((file) =>
    /^((.*\/)?node_modules\/)?(@[^/]+\/)?[^/]+\/package\.json$/.test(file),
  );
  expect(manifests).toContain('dockerode/package.json');
  const hasScript = async (file: string) => {
    const { scripts = {} } = JSON.parse(await readFile(join(packages, file), 'utf8'));
    const isCompiled = files.includes(join(dirname(file), 'binding.gyp'));
    return isCompiled || ['preinstall', 'install', 'postinstall'].some((name) => name in scripts);
  };
  const found = await Promise.all(manifests.map(async (file) => ((await hasScript(file)) ? [file] : [])));
  expect(found.flat()).toEqual(['esbuild/package.json']);
});

test('L231: the package has the guides, all that they link to, and where its help names them', async () => {
  const root = join(release.prefix, 'lib/node_modules/berth');
  const docs = (await readdir(join(root, 'docs'))).map((name) => join('docs', name));
  const documents = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...docs].filter((one) =>
    one.endsWith('.md'),
  );
  expect(documents).toEqual(expect.arrayContaining(['docs/user-guide.md', 'docs/operator-guide.md']));
  const linked = await Promise.all(
    documents.map(async (one) => linkedFiles(await readFile(join(root, one), 'utf8'), one)),
  );
  expect(linked.flat().length).toBeGreaterThan(50);
  for (const file of new Set(linked.flat())) await access(join(root, file));
  for (const command of ['', 'server', 'agent', 'demo', 'backup', 'restore', 'reset-password']) {
    const help = berth(
      20,
      [command, '--help'].filter((word) => word !== ''),
    );
    expect(await help.waitForEnd()).toBe(0);
    const guides = help.output.match(/\S+\/docs\/\S+\.md/g) ?? [];
    expect(guides.length).toBeGreaterThan(0);
    for (const guide of guides) await access(guide);
  }
});

test('L15: berth demo runs a container to its end, on Node 20', async () => {
  const demo = berth(20, ['demo']);
  await demo.waitFor(/terminated +\d/, 60_000);
  expect(await demo.waitForEnd()).toBe(0);
});

test('L154: Ctrl-C ends berth demo with 130, and nothing is left', async () => {
  const demo = berth(20, ['demo']);
  await demo.waitFor(/starting +containers/, 60_000);
  const children = await readFile(`/proc/${demo.pid}/task/${demo.pid}/children`, 'utf8');
  process.kill(-demo.pid, 'SIGINT');
  expect(await demo.waitForEnd(60_000), demo.output).toBe(130);
  expect(demo.output).toMatch(/\nInterrupted: what the demo has started is removed\.\n/);
  expect(demo.output).not.toMatch(/failed|Error/);
  expect(await removeDeployment(await testEngine(), `demo-${children.trim()}`)).toEqual([]);
});

describe('berth server with the agent of this machine', () => {
  let server: Program;
  let url: string;
  beforeAll(async () => {
    const settings = {
      BERTH_PORT: '0',
      BERTH_ADMIN_PASSWORD: PASSWORD,
      BERTH_DATA_DIR: join(folder, 'data'),
    };
    server = berth(24, ['server'], settings);
    await server.waitFor(/agent\.connected/);
    [, url = ''] = await server.waitFor(/listens on (http:\/\/[\w.:]+)/);
  });
  afterAll(async () => {
    if (server?.ended === undefined) await server?.kill();
  });

  test('L15, L16, L120, L190: berth server serves the commands of clients, its app shop and the signed agent of its release, on Node 24', async () => {
    for (const file of [
      '/assets/berth.css',
      '/agent/berth-agent.mjs',
      '/docs/swagger-ui.css',
      '/openapi.json',
    ])
      expect((await fetch(url + file)).status, file).toBe(200);
    const signed = (await (await fetch(`${url}/agent/release.json`)).json()) as {
      key: string;
      version: string;
    };
    expect(signed).toMatchObject({ key: release.key, version: VERSION });
    const login = startCommand(
      ['/bin/sh', '-c', `echo '${PASSWORD}' | berth login ${url} --user admin --password-stdin`],
      { cwd: folder, env: { HOME: folder, PATH: paths[20] } },
    );
    expect(await login.waitForEnd(), login.output).toBe(0);
    const shop = berth(20, ['shop', 'ls', '-q']);
    expect([await shop.waitForEnd(), shop.output]).toEqual([0, 'elastic-batch-0\nhello-0\ntwo-tier-0\n']);
    const words = ['--image', 'berth/busybox:1', '--follow', '--', 'sh', '-c', 'echo hello; exit 3'];
    const job = berth(20, ['run', ...words]);
    expect(await job.waitForEnd(60_000), job.output).toBe(3);
    expect(job.output).toContain('hello\n');
    const rm = berth(24, ['rm', '1']);
    expect(await rm.waitForEnd(), rm.output).toBe(0);
  });

  describe('L80: the script of docs/client.md, in a project that has only the package', () => {
    let project: string;
    beforeAll(async () => {
      project = join(folder, 'project');
      await mkdir(join(project, 'node_modules'), { recursive: true });
      await symlink(join(release.prefix, 'lib/node_modules/berth'), join(project, 'node_modules/berth'));
      const page = await readFile(join(ROOT, 'docs/client.md'), 'utf8');
      const [script, ...others] = codeBlocksOf(page).filter(({ info }) => info === 'js client');
      expect(others).toEqual([]);
      await writeFile(join(project, 'package.json'), '{ "type": "module" }');
      for (const name of ['hello.js', 'hello.ts']) await writeFile(join(project, name), script?.text ?? '');
    });

    test('L80: it passes the check of its types, and a wrong field does not', async () => {
      const check = (file: string) =>
        run(join(ROOT, 'node_modules/.bin/tsc'), ['--strict', '--noEmit', '--module', 'nodenext', file], {
          cwd: project,
        }).then(
          () => '',
          ({ stdout }: { stdout: string }) => stdout,
        );
      expect(await check('hello.ts')).toBe('');
      const text = await readFile(join(project, 'hello.ts'), 'utf8');
      await writeFile(join(project, 'wrong.ts'), text.replace('will_end: true', "will_end: 'yes'"));
      expect(await check('wrong.ts')).toMatch(/Type 'string' is not assignable to type 'boolean'/);
    });

    test('L80: it runs as it stands on Node 20 and 24', async () => {
      const admin = new Berth(url, { username: 'admin', password: PASSWORD });
      const proof = { expires_days: 1, current_password: PASSWORD };
      const { token } = await admin.tokens.create({ name: 'script', scopes: ['submit'], ...proof });
      for (const version of [20, 24] as const) {
        const script = startCommand(['/bin/sh', '-c', 'exec node hello.js'], {
          cwd: project,
          env: { PATH: paths[version], BERTH_URL: url, BERTH_TOKEN: token },
        });
        expect(await script.waitForEnd(60_000), script.output).toBe(0);
        expect(script.output).toMatch(/^main0: one\nmain0: two\nexecution \d+: terminated\n$/);
      }
    });
  });

  test('L16: SIGTERM ends berth server', async () => {
    process.kill(server.pid, 'SIGTERM');
    expect(await server.waitForEnd()).toBe(0);
  });
});

test('L16: a program has the arguments and the exit code of its own', async () => {
  const backup = berth(20, ['backup', '--none'], { BERTH_DATA_DIR: join(folder, 'nothing') });
  expect(await backup.waitForEnd()).toBe(1);
  const version = berth(20, ['--version']);
  expect(await version.waitForEnd()).toBe(0);
  expect(version.output).toMatch(/^\d+\.\d+\.\d+\n$/);
});
