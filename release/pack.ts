/**
 * `npm run pack`: makes the package as a tarball in `dist/`, for `npm install -g`. Node strips no types below
 * node_modules, so the sources become JavaScript, file by file. The command line and the client become one
 * file each, for Node 20: the one must start quickly, and the other stands alone. Everything else runs on the
 * Node 24 that the package brings along.
 * `npm run pack -- FOLDER` adds the signed agent in FOLDER.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { transform } from 'esbuild';
import { AGENT_BUNDLE, AGENT_RELEASE } from '../shared/protocol/release.ts';
import { CARRIED, carryPackages } from './carried-packages.ts';
import { buildClient, CLIENT_EXPORT } from './client.ts';
import { bundleCommand } from './command.ts';
import { withLinksWithin } from './document-links.ts';

const ROOT = resolve(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');
const STAGE = join(DIST, 'package');
const FOLDERS = ['shared', 'control-plane', 'agent', 'examples', 'docs'];
const FILES = ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE'];
const COMMAND = 'cli/main.js';
/**
 * What only contributors need. The documents of the shop are part of the shop, and those in `docs` are for
 * users and operators.
 */
const IS_OF_CHECKOUT =
  /(^|\/)tsconfig\.json$|^(?!examples\/shop\/|docs\/).*\.md$|^docs\/(decisions\/|(changing-berth|testing)\.md$)/;
/** Needed on a machine that runs a control plane; `npm run dev` alone needs the others. */
const OWN_OPTIONAL = /^node-/;

// The modes of files are part of the tarball, which must not depend on who makes it.
process.umask(0o022);
rmSync(DIST, { recursive: true, force: true });
const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1)),
).filter((path) => !IS_OF_CHECKOUT.test(path));
/** What documents may link to: the sources become other files. */
const linkable = new Set(
  [...sources.filter((path) => extname(path) !== '.ts'), ...FILES].flatMap(withFolders),
);
for (const path of [...sources, ...FILES]) await add(path);
addAgent(process.argv[2]);
await bundleCommand(join(STAGE, COMMAND));
await buildClient(join(STAGE, 'client'));
await carryPackages(join(STAGE, 'node_modules'));
const manifest = makeManifest(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
writeFileSync(join(STAGE, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
const [packed] = JSON.parse(
  execFileSync('npm', ['pack', '--json', '--pack-destination', DIST], { cwd: STAGE, encoding: 'utf8' }),
) as [{ filename: string; size: number; entryCount: number }];
rmSync(STAGE, { recursive: true });
process.stdout.write(`dist/${packed.filename}: ${packed.entryCount} files, ${packed.size} bytes\n`);

async function add(path: string): Promise<void> {
  const to = join(STAGE, path);
  mkdirSync(dirname(to), { recursive: true });
  if (extname(path) === '.md') {
    const text = readFileSync(join(ROOT, path), 'utf8');
    return writeFileSync(
      to,
      withLinksWithin(text, path, (file) => linkable.has(file)),
    );
  }
  if (extname(path) !== '.ts') return copyFile(path, to);
  const source = readFileSync(join(ROOT, path), 'utf8');
  const { code } = await transform(source, {
    loader: 'ts',
    format: 'esm',
    target: 'node24',
    charset: 'utf8',
  });
  writeFileSync(to.replace(/\.ts$/, '.js'), withOwnNames(code));
}

/** The path, and those of the folders around it. */
function withFolders(path: string): string[] {
  return path === '.' ? [] : [path, ...withFolders(dirname(path))];
}

/** The control plane serves it from there (control-plane/local/assets/agent-files.ts). */
function addAgent(folder: string | undefined): void {
  if (folder === undefined) return;
  mkdirSync(join(STAGE, 'agent/release'));
  for (const name of [AGENT_BUNDLE, AGENT_RELEASE])
    copyFile(join(folder, name), join(STAGE, 'agent/release', name));
}

/** Copies the content only. */
function copyFile(path: string, to: string): void {
  writeFileSync(to, readFileSync(resolve(ROOT, path)));
}

/** Names of files in imports and other texts: the sources are JavaScript now. */
function withOwnNames(code: string): string {
  return code.replace(/\.ts(?=["'`])/g, '.js');
}

interface Manifest {
  dependencies: Record<string, string>;
  optionalDependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  [field: string]: unknown;
}

function makeManifest({ dependencies, optionalDependencies, ...rest }: Manifest): object {
  const { name, version, description, license, type, engines } = rest;
  const nodes = Object.entries(optionalDependencies).filter(([one]) => OWN_OPTIONAL.test(one));
  return {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin: { berth: COMMAND },
    exports: { './client': CLIENT_EXPORT },
    dependencies,
    optionalDependencies: Object.fromEntries(nodes),
    bundleDependencies: CARRIED,
  };
}
