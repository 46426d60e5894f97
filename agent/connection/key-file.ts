/** Stores the agent's private key in a file that only its user can read. Each write is atomic. */
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { chmod, link, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { ConfigError } from '../config.ts';

const storedKeySchema = z.object({
  /** Name of the host. */
  name: z.string(),
  /** Null until the key is registered. */
  hostId: z.int().positive().nullable(),
  /** Id of the engine with the host's containers. Absent until the agent has found one. */
  engine: z.string().optional(),
  privateKey: z.object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string(),
    d: z.string(),
  }),
});
export type StoredKey = z.infer<typeof storedKeySchema>;

/** Generates an Ed25519 key, not yet registered. */
export function newKey(name: string): StoredKey {
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return storedKeySchema.parse({ name, hostId: null, privateKey });
}

/** Reads the key in `folder`. Undefined if there is none; throws ConfigError if the key is unusable. */
export async function readKey(folder: string): Promise<StoredKey | undefined> {
  const path = pathIn(folder);
  let text: string;
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0)
      throw new ConfigError(
        `Other users can read the key in ${path}. If one may have read it, remove the host; otherwise run chmod 600.`,
      );
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const key = storedKeySchema.safeParse(parse(text));
  if (key.success) return key.data;
  throw new ConfigError(`The key in ${path} is damaged. Remove the file and the host, and join again.`);
}

export function writeKey(folder: string, key: StoredKey): Promise<void> {
  return withDraft(folder, key, (draft) => rename(draft, pathIn(folder)));
}

/**
 * Stores the key if there is none. Resolves to the stored key, which another program may have written first.
 */
export function addKey(folder: string, key: StoredKey): Promise<StoredKey> {
  return withDraft(folder, key, async (draft) => {
    try {
      await link(draft, pathIn(folder));
    } catch (error) {
      const other = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(folder) : undefined;
      if (other) return other;
      // The file system has no hard links.
      await rename(draft, pathIn(folder));
    }
    return key;
  });
}

/** Removes the key, unless another program has replaced or registered it. */
export async function removeKey(folder: string, { hostId, privateKey }: StoredKey): Promise<void> {
  const stored = await readKey(folder);
  if (stored?.hostId === hostId && stored.privateKey.x === privateKey.x)
    await rm(pathIn(folder), { force: true });
}

/** Calls `use` with a complete draft file under a unique name, because several programs may write at once. */
async function withDraft<T>(folder: string, key: StoredKey, use: (draft: string) => Promise<T>): Promise<T> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // An existing folder may be open to other users.
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
