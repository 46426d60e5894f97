/**
 * Entry of wrangler's build command: puts into one folder what the Worker serves and can't read from anywhere else, the
 * files of Swagger UI, what hosts install and what pages ask for. What is there already stays: wrangler starts anew where a file changes.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ensureAgentBundle } from './agent-bundle.ts';
import { agentScript } from './agent-files.ts';
import { replace } from './bundle.ts';
import { SWAGGER_FILES, swaggerFile } from './swagger-files.ts';
import { ensureWebFiles } from './web-files.ts';

const [folder] = process.argv.slice(2).map((path) => resolve(path));
if (!folder) throw new Error('usage: make-worker-assets.ts FOLDER');
await mkdir(folder, { recursive: true });
const files = await Promise.all(SWAGGER_FILES.map(async (name) => [name, await swaggerFile(name)] as const));
for (const [name, content] of [...files, ['install.sh', await agentScript()] as const]) {
  const path = join(folder, name);
  const there = await readFile(path).catch(() => undefined);
  if (!there?.equals(content)) await replace(path, content);
}
await ensureAgentBundle(folder);
await ensureWebFiles(join(folder, 'web'));
