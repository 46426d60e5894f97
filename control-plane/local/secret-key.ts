/** The key that encrypts secrets where the settings have none: made once, in the data folder (H779). */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config.ts';
import { isSecretKey } from '../settings.ts';

const NAME = 'secret-key';

/**
 * The keys, the one that encrypts first. Those of the settings precede that of the folder, which goes on to
 * decrypt what was encrypted with it.
 */
export function secretKeysOf(configured: readonly string[], dataDir: string): readonly string[] {
  const file = join(dataDir, NAME);
  const key = keyIn(file) ?? (configured.length === 0 ? newKeyIn(file) : undefined);
  return key === undefined || configured.includes(key) ? configured : [...configured, key];
}

function newKeyIn(file: string): string | undefined {
  const unfinished = `${file}.${process.pid}.unfinished`;
  try {
    const written = openSync(unfinished, 'wx', 0o600);
    writeSync(written, `${randomBytes(32).toString('base64')}\n`);
    fsyncSync(written);
    closeSync(written);
    linkSync(unfinished, file);
  } catch (error) {
    // Another control plane has made it at the same moment.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(unfinished, { force: true });
  }
  return keyIn(file);
}

/** Undefined if there is no such file. */
function keyIn(file: string): string | undefined {
  let key: string;
  try {
    key = readFileSync(file, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new ConfigError(`BERTH_SECRET_KEYS: the key in ${file} can't be read: ${String(error)}`);
  }
  if (isSecretKey(key)) return key;
  throw new ConfigError(
    `BERTH_SECRET_KEYS: ${file} has no key of 32 bytes in base64: put the former one there again.`,
  );
}
