/** Owns what all files have in common that are made of our sources and packages: what they are made of, licences, how they are put in place. */
import { createHash } from 'node:crypto';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '../../..');

/** Writes a file so that whoever reads it meanwhile sees the old one or the new one. */
export async function replace(path: string, content: string | Uint8Array): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, content);
  await rename(draft, path);
}

/** The licences of all packages in the bundle, which ask to be kept with the code. */
export async function licencesOf(inputs: readonly string[]): Promise<string> {
  const folders = inputs.flatMap((input) => input.match(/^.*node_modules\/(@[^/]+\/)?[^/]+/)?.[0] ?? []);
  const texts = await Promise.all(
    [...new Set(folders)].sort().map((folder) => licenceOf(resolve(ROOT, folder))),
  );
  return `This file holds the following packages.\n\n${texts.join('\n')}`;
}

async function licenceOf(folder: string): Promise<string> {
  const { name, version, license = '' } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  const file = (await readdir(folder)).find((one) => /^(licen[cs]e|copying)\b/i.test(one));
  const text = file ? await readFile(join(folder, file), 'utf8') : '';
  return `== ${name} ${version} ${typeof license === 'string' ? license : ''}\n${text.trim()}\n`;
}

/** Tells apart what a bundle is made of: sources in `folders`, other `files`, and the packages as the lock file has them. */
export async function digestOf(folders: readonly string[], files: readonly string[]): Promise<string> {
  const paths = ['package-lock.json', ...files];
  for (const folder of folders) {
    const found = await readdir(join(ROOT, folder), { recursive: true });
    paths.push(...found.filter((file) => /\.(ts|json|css)$/.test(file)).map((file) => `${folder}/${file}`));
  }
  const texts = await Promise.all(paths.sort().map((path) => readFile(join(ROOT, path), 'utf8')));
  const hash = createHash('sha256');
  paths.forEach((path, at) => {
    hash.update(`${path}\0${texts[at]}\0`);
  });
  return hash.digest('hex').slice(0, 16);
}
