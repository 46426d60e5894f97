/**
 * Owns what the shop needs of whoever has its files: the port, and the adapter for files that were packed into one. That of
 * a folder on Node is local/shop-folder.ts.
 */

/** Of one file: descriptions, texts and pictures of a shop are far smaller. */
export const MAX_FILE_BYTES = 256 * 1024;
export const MAX_FOLDERS = 500;

/** Folders and files have plain names: no path, nothing hidden. */
export const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._ -]{0,127}$/;

export type ShopFile =
  | { content: Uint8Array<ArrayBuffer> }
  /** `problem` is a sentence about the file; `missing`: there is none of that name. */
  | { problem: string; missing: boolean };

export interface ShopFiles {
  /** Folders of the shop in the order of their names, or why there are none. */
  folders(): Promise<{ folders: readonly string[] } | { problem: string }>;
  /** Whatever is asked for: nothing but a plain file that is in the folder itself is given. */
  read(folder: string, name: string): Promise<ShopFile>;
}

export const missingFile = (name: string): ShopFile => ({
  problem: `There is no file ${name}.`,
  missing: true,
});

/** The asset of the Worker that has the shop. */
export const SHOP_PACK = 'shop.json';

/** A whole shop as JSON: of each folder each file in base 64, or what is wrong with it. */
export type ShopPack =
  | { problem: string }
  | { folders: Record<string, Record<string, string | { problem: string }>> };

/** Over a pack, which is read once: it does not change in the life of an isolate. */
export function packedShop(readPack: () => Promise<ShopPack>): ShopFiles {
  let pack: ShopPack | undefined;
  const read = async () => {
    pack ??= await readPack();
    return pack;
  };
  return {
    async folders() {
      const shop = await read();
      return 'problem' in shop ? shop : { folders: Object.keys(shop.folders).sort() };
    },
    async read(folder, name) {
      const shop = await read();
      const files = 'folders' in shop && Object.hasOwn(shop.folders, folder) ? shop.folders[folder] : {};
      const file = files && Object.hasOwn(files, name) ? files[name] : undefined;
      if (file === undefined) return missingFile(name);
      if (typeof file !== 'string') return { ...file, missing: false };
      return { content: new Uint8Array(Buffer.from(file, 'base64')) };
    },
  };
}
