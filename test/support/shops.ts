/** Owns shops for tests: folders of files as they are on a disk, and what reads them, a folder or the pack made of it. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packShop, shopFolder } from '../../control-plane/local/shop-folder.ts';
import { packedShop, type ShopFiles, type ShopPack } from '../../control-plane/operations/shop/shop-files.ts';
import { scratchFolder } from './folder.ts';

export const shopKinds = ['folder', 'pack'] as const;
export type ShopKind = (typeof shopKinds)[number];

export class ScratchShop {
  readonly root: string;

  constructor(root: string) {
    this.root = root;
  }

  static async make(): Promise<ScratchShop> {
    return new ScratchShop(await scratchFolder('berth-shop-'));
  }

  /** Texts as they are, anything else as JSON; paths are `folder/file`. */
  async write(files: Record<string, unknown>): Promise<void> {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(this.root, path)), { recursive: true });
      const asIs = typeof content === 'string' || content instanceof Uint8Array;
      await writeFile(join(this.root, path), asIs ? content : JSON.stringify(content));
    }
  }

  /** Of what is there now, for a pack. */
  async open(kind: ShopKind): Promise<ShopFiles> {
    if (kind === 'folder') return shopFolder(this.root);
    const text = JSON.stringify(await packShop(this.root));
    return packedShop(async () => JSON.parse(text) as ShopPack);
  }

  remove(): Promise<void> {
    return rm(this.root, { recursive: true, force: true });
  }
}

/** One application, `app.json` with the readme `README.md`, and whatever a test changes of it. */
export const zapp = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  category: 'Tests',
  name: 'App',
  description: 'app.json',
  readable_descr: 'README.md',
  parameters: [],
  ...changes,
});

export const manifest = (...zapps: unknown[]) => ({ version: 1, zapps });
