/**
 * Reads the shop from a folder on Node, on each request, and packs a shop for the Worker. Never reads outside
 * the folder.
 */
import { constants } from 'node:fs';
import { open, readdir, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import {
  MAX_FILE_BYTES,
  missingFile,
  PLAIN_NAME,
  type ShopFile,
  type ShopFiles,
  type ShopPack,
} from '../operations/shop/shop-files.ts';

/** The shop that comes with Berth. */
export const EXAMPLE_SHOP = join(import.meta.dirname, '../../examples/shop');

export const shopFolder = (root: string): ShopFiles => ({
  async folders() {
    try {
      const entries = await readdir(root, { withFileTypes: true });
      const folders = entries.filter((one) => one.isDirectory() || one.isSymbolicLink());
      const names = folders.map(({ name }) => name).filter((name) => !name.startsWith('.'));
      return { folders: names.sort() };
    } catch (error) {
      return { problem: `The folder ${root} can't be read: ${reasonOf(error)}` };
    }
  },
  read: (folder, name) => readShopFile(root, folder, name),
});

/** The whole shop, including the problems of its files. */
export async function packShop(root: string): Promise<ShopPack> {
  const all = await shopFolder(root).folders();
  if ('problem' in all) return all;
  const folders: Record<string, Record<string, string | { problem: string }>> = {};
  for (const folder of all.folders) {
    const packed: Record<string, string | { problem: string }> = {};
    const names = await readdir(join(root, folder)).catch(() => []);
    for (const name of names.sort()) {
      if (!PLAIN_NAME.test(name)) continue;
      const file = await readShopFile(root, folder, name);
      if ('content' in file) packed[name] = Buffer.from(file.content).toString('base64');
      else if (!file.missing) packed[name] = { problem: file.problem };
    }
    folders[folder] = packed;
  }
  return { folders };
}

async function readShopFile(root: string, folder: string, name: string): Promise<ShopFile> {
  if (!PLAIN_NAME.test(name) || !/^[^./\\\0][^/\\\0]*$/.test(folder)) return missingFile(name);
  try {
    const path = await realpath(join(root, folder, name));
    // Links may lead to other places in the shop, as in a mounted ConfigMap, never out of it.
    if (!path.startsWith((await realpath(root)) + sep))
      return { problem: `${name} is a link to a place outside the shop.`, missing: false };
    return await readWhole(path, name);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return missingFile(name);
    return { problem: `${name} can't be read: ${reasonOf(error)}`, missing: false };
  }
}

/** Never waits for the other end of a pipe, and never follows a link that was created meanwhile. */
async function readWhole(path: string, name: string): Promise<ShopFile> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const status = await file.stat();
    if (!status.isFile()) return { problem: `${name} is not a file.`, missing: false };
    const buffer = new Uint8Array(Math.min(status.size, MAX_FILE_BYTES) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > MAX_FILE_BYTES)
      return { problem: `${name} is larger than ${MAX_FILE_BYTES / 1024} KiB.`, missing: false };
    return { content: buffer.slice(0, bytesRead) };
  } finally {
    await file.close();
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
