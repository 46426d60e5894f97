/**
 * Entry of wrangler's build command: collects in one folder what the Worker serves, since it can't read files
 * elsewhere. These are the files of Swagger UI, the files that hosts install, the web interface, the
 * documents, and the shop (BERTH_SHOP) in one file. Unchanged files are not written, because wrangler
 * restarts when a file changes.
 */
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { AGENT_BUNDLE, AGENT_RELEASE } from '../../../shared/protocol/release.ts';
import { SHOP_PACK } from '../../operations/shop/shop-files.ts';
import { EXAMPLE_SHOP, packShop } from '../shop-folder.ts';
import { ensureAgentBundle } from './agent-bundle.ts';
import { agentScript, signedAgent } from './agent-files.ts';
import { replace } from './bundle.ts';
import { GUIDES } from './guide-files.ts';
import { SWAGGER_FILES, swaggerFile } from './swagger-files.ts';
import { ensureWebFiles } from './web-files.ts';

/** Cloudflare accepts assets of up to 25 MiB, and an isolate has 128 MiB in all. */
const MAX_PACK_BYTES = 16 * 1024 * 1024;

const [folder] = process.argv.slice(2).map((path) => resolve(path));
if (!folder) throw new Error('usage: make-worker-assets.ts FOLDER');
await mkdir(join(folder, 'docs'), { recursive: true });
const files = await Promise.all(SWAGGER_FILES.map(async (name) => [name, await swaggerFile(name)] as const));
const packed = await packShop(resolve(process.env.BERTH_SHOP || EXAMPLE_SHOP));
if ('problem' in packed) throw new Error(`BERTH_SHOP: ${packed.problem}`);
const shop = Buffer.from(JSON.stringify(packed));
if (shop.length > MAX_PACK_BYTES) {
  throw new Error(
    `the shop is ${shop.length} bytes when packed, more than ${MAX_PACK_BYTES}: remove some files from it`,
  );
}
const generated = [['install.sh', await agentScript()] as const, [SHOP_PACK, shop] as const];
const guides = (await readdir(GUIDES)).filter((name) => name.endsWith('.md'));
const documents = await Promise.all(
  guides.map(async (name) => [join('docs', name), await readFile(join(GUIDES, name))] as const),
);
const signed = signedAgent(process.env.BERTH_AGENT_RELEASE || undefined);
const agent = signed
  ? await Promise.all(
      [AGENT_BUNDLE, AGENT_RELEASE].map(async (name) => [name, await readFile(join(signed, name))] as const),
    )
  : [];
for (const [name, content] of [...files, ...generated, ...documents, ...agent]) {
  const path = join(folder, name);
  const present = await readFile(path).catch(() => undefined);
  if (!present?.equals(content)) await replace(path, content);
}
if (!signed) {
  await rm(join(folder, AGENT_RELEASE), { force: true });
  await ensureAgentBundle(folder);
}
await ensureWebFiles(join(folder, 'web'));
