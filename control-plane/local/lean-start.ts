/**
 * Owns the first start after an install: Node has then loaded its TypeScript stripper, 13 MB that it never gives back. What
 * it made is in the compile cache, so that the same process, begun anew, does without.
 */
import { flushCompileCache, getCompileCacheDir } from 'node:module';

const BEGUN_ANEW = 'BERTH_BEGUN_ANEW';

/** Call it before anything else is done, when all modules are loaded. Does not return where it begins anew: same process id, once. */
export function startLean(): void {
  const stripper = Reflect.get(process, 'moduleLoadList')?.some((name: string) => name.includes('amaro'));
  if (!stripper || !process.execve || !getCompileCacheDir() || process.env[BEGUN_ANEW]) return;
  flushCompileCache();
  const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, args, { ...process.env, [BEGUN_ANEW]: '1' });
}
