/**
 * Builds the scripts and styles of the web interface with esbuild: web/browser/ with its packages, and the
 * styles. Builds again only if a source has changed.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { ZIPPED } from '../../http/files.ts';
import { digestOf, licencesOf, ROOT, replace } from './bundle.ts';

const WEB = 'control-plane/web';
const STAMP = 'stamp';

/** Puts up-to-date files, each with a compressed copy, into `folder`, which is created if it is missing. */
export async function ensureWebFiles(folder: string): Promise<void> {
  const stamp = await digestOf(
    [`${WEB}/browser`, `${WEB}/styles`],
    [
      `${WEB}/berth.css`,
      `${WEB}/icon.svg`,
      'control-plane/local/assets/web-files.ts',
      'control-plane/core/model/text.ts',
      'shared/streams/log-frames.ts',
      `${WEB}/components/duration.ts`,
      `${WEB}/components/memory-unit.ts`,
    ],
  );
  const present = await readFile(join(folder, STAMP), 'utf8').catch(() => undefined);
  if (present === stamp) return;
  await mkdir(folder, { recursive: true });
  const files = await webFiles();
  for (const [name, content] of files) await replace(join(folder, name), content);
  await replace(join(folder, STAMP), stamp);
  const names = [STAMP, ...files.map(([name]) => name)];
  const stale = (await readdir(folder)).filter((name) => !names.includes(name) && !name.endsWith('.new'));
  await Promise.all(stale.map((name) => rm(join(folder, name), { force: true })));
}

async function webFiles(): Promise<[name: string, content: Uint8Array][]> {
  const entries = (await readdir(join(ROOT, WEB, 'browser'))).filter((name) => name.endsWith('.ts'));
  const { outputFiles, metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [
      ...entries.map((name) => `${WEB}/browser/${name}`),
      `${WEB}/berth.css`,
      `${WEB}/styles/terminal.css`,
    ],
    outdir: 'out',
    entryNames: '[name]',
    write: false,
    metafile: true,
    bundle: true,
    minify: true,
    splitting: true,
    format: 'esm',
    target: ['es2022', 'chrome111', 'firefox114', 'safari16.4'],
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'silent',
  });
  const files = outputFiles.map(({ path, contents }): [string, Uint8Array] => [
    path.split('/').at(-1) ?? '',
    contents,
  ]);
  const icon = await readFile(join(ROOT, WEB, 'icon.svg'));
  const licences = Buffer.from(await licencesOf(Object.keys(metafile.inputs)));
  const all: [string, Uint8Array][] = [...files, ['icon.svg', icon], ['licences.txt', licences]];
  return all.flatMap(([name, content]) => [
    [name, content],
    [`${name}${ZIPPED}`, gzipSync(content)],
  ]);
}
