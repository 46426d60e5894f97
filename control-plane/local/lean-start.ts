/**
 * Restarts the process at the first start after an install (INST-7). Node has then loaded its TypeScript
 * stripper, 13 MB that are never freed. The compile cache holds the result, so that the same process,
 * restarted, needs no stripper. A short-lived process compiles the sources of the agent in the same way.
 */
import { spawnSync } from 'node:child_process';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { LOCAL_AGENT } from './local-agent.ts';

const BEGUN_ANEW = 'BERTH_BEGUN_ANEW';

/**
 * Must run before anything else, after all modules are loaded. A restart keeps the process id and happens
 * once; the call does not return then.
 */
export function startLean(): void {
  const stripper = Reflect.get(process, 'moduleLoadList')?.some((name: string) => name.includes('amaro'));
  if (!stripper || !process.execve || !getCompileCacheDir() || process.env[BEGUN_ANEW]) return;
  flushCompileCache();
  const { execPath, execArgv } = process;
  spawnSync(execPath, [...execArgv, LOCAL_AGENT, 'compile'], { stdio: 'ignore' });
  const args = [execPath, ...execArgv, ...process.argv.slice(1)];
  process.execve(execPath, args, { ...process.env, [BEGUN_ANEW]: '1' });
}
