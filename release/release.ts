/**
 * `npm run release`: makes the files of a release in `dist/`. They are the package, the contexts of the
 * images and what runs them, the SBOM and the checksums of all. `--key FILE` signs the agent in the package
 * with the release key in this file. `--draft` allows a checkout that is not ready, for a try.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureAgentBundle } from '../control-plane/local/assets/agent-bundle.ts';
import { VERSION } from '../control-plane/version.ts';
import { AGENT_BUNDLE } from '../shared/protocol/release.ts';
import { controlPlaneContext } from './control-plane-context.ts';
import { deploymentFiles } from './deployment-files.ts';
import { type ContextFile, writeContext } from './image-context.ts';
import { releaseProblems } from './problems.ts';
import { signAgent } from './sign-agent.ts';

const ROOT = resolve(import.meta.dirname, '..');
const DIST = join(ROOT, 'dist');

const say = (line: string) => process.stdout.write(`${line}\n`);
const run = (file: string, args: string[]) => execFileSync(file, args, { cwd: ROOT, encoding: 'utf8' });

try {
  await release(optionsOf(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

interface Options {
  draft: boolean;
  /** File of the release key. Undefined: the package has no signed agent. */
  key: string | undefined;
}

function optionsOf(words: string[]): Options {
  try {
    const { values } = parseArgs({
      args: words,
      options: { draft: { type: 'boolean', default: false }, key: { type: 'string' } },
    });
    return { draft: values.draft, key: values.key };
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${message}\nnpm run release has the options --key FILE and --draft.`, { cause });
  }
}

async function release({ draft, key }: Options): Promise<void> {
  if (!existsSync(join(ROOT, 'node_modules'))) throw new Error('node_modules is missing: run npm ci first.');
  // Packages with compiled parts are installed for the platform of this machine.
  if (process.platform !== 'linux')
    throw new Error(`Images run on Linux, and this is ${process.platform}: run npm run release on Linux.`);
  await check(draft);
  const agent = await mkdtemp(join(tmpdir(), 'berth-release-'));
  try {
    say('1/5 agent');
    if (key === undefined) await ensureAgentBundle(agent);
    else say(`signed with the key ${(await signAgent(resolve(key), agent)).key}`);
    say('2/5 package');
    run(process.execPath, ['release/pack.ts', ...(key === undefined ? [] : [agent])]);
    say('3/5 image contexts');
    await writeContext(join(DIST, `berth-agent-image-${VERSION}.tar.gz`), await agentContext(agent));
  } finally {
    await rm(agent, { recursive: true });
  }
  const platform = `${process.platform}-${process.arch}`;
  await writeContext(
    join(DIST, `berth-control-plane-image-${VERSION}-${platform}.tar.gz`),
    controlPlaneContext(join(DIST, `berth-${VERSION}.tgz`)),
  );
  for (const { name, content } of await deploymentFiles(VERSION)) await writeFile(join(DIST, name), content);
  say('4/5 SBOM');
  run('npm', ['run', '--silent', 'sbom']);
  await rename(join(ROOT, 'berth.cdx.json'), join(DIST, `berth-${VERSION}.cdx.json`));
  say('5/5 checksums');
  for (const line of await writeChecksums()) say(line);
}

async function check(draft: boolean): Promise<void> {
  const changelog = await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8');
  const problems = draft ? [] : releaseProblems({ version: VERSION, changelog, status: statusOfCheckout() });
  if (problems.length === 0) return;
  const way = 'To try the files out all the same: npm run release -- --draft';
  throw new Error([`Berth ${VERSION} can't be released.`, ...problems, way].join('\n  '));
}

function statusOfCheckout(): string {
  try {
    return run('git', ['status', '--porcelain']);
  } catch (cause) {
    throw new Error('A release is made of a commit: run npm run release in a checkout, with git.', { cause });
  }
}

/** The agent's Dockerfile, and the agent in this folder, which it copies. */
async function agentContext(folder: string): Promise<ContextFile[]> {
  return [
    { name: 'Dockerfile', content: await readFile(join(ROOT, 'agent/install/Dockerfile')) },
    { name: AGENT_BUNDLE, content: await readFile(join(folder, AGENT_BUNDLE)) },
  ];
}

/** Writes the file that `sha256sum --check` reads. Returns its lines. */
async function writeChecksums(): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await readdir(DIST)).sort()) {
    const digest = createHash('sha256').update(await readFile(join(DIST, name)));
    lines.push(`${digest.digest('hex')}  ${name}`);
  }
  await writeFile(join(DIST, 'SHA256SUMS'), `${lines.join('\n')}\n`);
  return lines;
}
