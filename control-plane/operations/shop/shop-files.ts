/**
 * Port to the files of a shop, and the adapter for files packed into one JSON. The adapter for a folder on
 * Node is local/shop-folder.ts (SHOP-1).
 */

/** Far beyond the size of real descriptions, texts and pictures. */
export const MAX_FILE_BYTES = 256 * 1024;
export const MAX_FOLDERS = 500;

/** No paths and no hidden files. */
export const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._ -]{0,127}$/;

export type ShopFile =
  | { content: Uint8Array<ArrayBuffer> }
  /** `problem` is a sentence about the file; `missing`: no file has that name. */
  | { problem: string; missing: boolean };

export interface ShopFiles {
  /** Folders of the shop sorted by name, or why there are none. */
  folders(): Promise<{ folders: readonly string[] } | { problem: string }>;
  /** Returns only regular files that lie in the folder itself, whatever the name. */
  read(folder: string, name: string): Promise<ShopFile>;
}

export const missingFile = (name: string): ShopFile => ({
  problem: `There is no file ${name}.`,
  missing: true,
});

/** The asset of the Worker with the packed shop. */
export const SHOP_PACK = 'shop.json';

/** A whole shop as JSON: folder to file name to content in base64, or to the problem of the file. */
export type ShopPack =
  | { problem: string }
  | { folders: Record<string, Record<string, string | { problem: string }>> };

/** Reads the pack once, since it cannot change during the life of an isolate. */
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
