/**
 * Owns the first start after an install: Node has then loaded its TypeScript stripper, 13 MB that it never gives back. What
 * it made is in the compile cache, so that the same process, begun anew, does without; and so does its agent, whose sources
 * are compiled by a process that only does that.
 */
import { spawnSync } from 'node:child_process';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { LOCAL_AGENT } from './local-agent.ts';

const BEGUN_ANEW = 'BERTH_BEGUN_ANEW';

/** Call it before anything else is done, when all modules are loaded. Does not return where it begins anew: same process id, once. */
export function startLean(): void {
  const stripper = Reflect.get(process, 'moduleLoadList')?.some((name: string) => name.includes('amaro'));
  if (!stripper || !process.execve || !getCompileCacheDir() || process.env[BEGUN_ANEW]) return;
  flushCompileCache();
  const { execPath, execArgv } = process;
  spawnSync(execPath, [...execArgv, LOCAL_AGENT, 'compile'], { stdio: 'ignore' });
  const args = [execPath, ...execArgv, ...process.argv.slice(1)];
  process.execve(execPath, args, { ...process.env, [BEGUN_ANEW]: '1' });
}
