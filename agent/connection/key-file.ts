/** Owns the file with the agent's private key: readable by its user alone, and written whole or not at all. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { ConfigError } from '../config.ts';

const storedKeySchema = z.object({
  /** What the host is called. */
  name: z.string(),
  /** Null until the key is registered. */
  hostId: z.int().positive().nullable(),
  privateKey: z.object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string(),
    d: z.string(),
  }),
});
export type StoredKey = z.infer<typeof storedKeySchema>;

/** An Ed25519 key that is not registered yet. */
export function newKey(name: string): StoredKey {
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return storedKeySchema.parse({ name, hostId: null, privateKey });
}

/** The key kept in `folder`, or undefined where there is none; throws ConfigError where it can't be used. */
export async function readKey(folder: string): Promise<StoredKey | undefined> {
  const path = pathIn(folder);
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0)
      throw new ConfigError(
        `Others can read the key in ${path}: remove the host if they may have, else chmod 600 it.`,
      );
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const key = storedKeySchema.safeParse(parse(text));
  if (key.success) return key.data;
  throw new ConfigError(`The key in ${path} is damaged: remove the file, and the host, and join again.`);
}

export function writeKey(folder: string, key: StoredKey): Promise<void> {
  return withDraft(folder, key, (draft) => rename(draft, pathIn(folder)));
}

/** Where none is there. Resolves to the one that is there then: another program's, where that has come first. */
export function addKey(folder: string, key: StoredKey): Promise<StoredKey> {
  return withDraft(folder, key, async (draft) => {
    try {
      await link(draft, pathIn(folder));
    } catch (error) {
      const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(folder) : undefined;
      if (other) return other;
      // A file system without hard links.
      await rename(draft, pathIn(folder));
    }
    return key;
  });
}

/** Not where it is another's by now, or has been registered by another. */
export async function removeKey(folder: string, { hostId, privateKey }: StoredKey): Promise<void> {
  const stored = await readKey(folder);
  if (stored?.hostId === hostId && stored.privateKey.x === privateKey.x)
    await rm(pathIn(folder), { force: true });
}

/** With a whole file that is to become the key, under a name of its own: several programs may write at once. */
async function withDraft<T>(folder: string, key: StoredKey, use: (draft: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // One that was there already may be open to others.
  await chmod(folder, 0o700);
  const draft = `${pathIn(folder)}.${randomUUID()}`;
  try {
    await writeFile(draft, `${JSON.stringify(key)}\n`, { mode: 0o600, flush: true });
    return await use(draft);
  } finally {
    await rm(draft, { force: true });
  }
}

const pathIn = (folder: string): string => `${folder}/key.json`;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
