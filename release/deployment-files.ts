/** The files of a release that run its images: a deployment by Docker Compose, behind Caddy. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = join(import.meta.dirname, 'deploy');

/** `compose.yaml` names the images of this version. */
export async function deploymentFiles(version: string): Promise<{ name: string; content: string }[]> {
  const read = (name: string) => readFile(join(FOLDER, name), 'utf8');
  const compose = (await read('compose.yaml')).replaceAll(/(?<=image: .*:)VERSION\b/g, version);
  return [
    { name: 'compose.yaml', content: compose },
    { name: 'Caddyfile', content: await read('Caddyfile') },
  ];
}
