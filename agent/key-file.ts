/** Owns the file with the agent's private key: readable by its user alone, and written whole or not at all. */
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { ConfigError } from './config.ts';

const keptSchema = z.object({
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
export type KeptKey = z.infer<typeof keptSchema>;

/** An Ed25519 key that is not registered yet. */
export function newKey(name: string): KeptKey {
  const privateKey = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
  return keptSchema.parse({ name, hostId: null, privateKey });
}

/** The key kept in `folder`, or undefined where there is none; throws ConfigError where it can't be used. */
export async function readKey(folder: string): Promise<KeptKey | undefined> {
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
  const kept = keptSchema.safeParse(parse(text));
  if (kept.success) return kept.data;
  throw new ConfigError(`The key in ${path} is damaged: remove the file, and the host, and join again.`);
}

export async function writeKey(folder: string, kept: KeptKey): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // One that was there already may be open to others.
  await chmod(folder, 0o700);
  const path = pathIn(folder);
  await writeFile(`${path}.new`, `${JSON.stringify(kept)}\n`, { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}

export const removeKey = (folder: string): Promise<void> => rm(pathIn(folder), { force: true });

const pathIn = (folder: string): string => `${folder}/key.json`;

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
