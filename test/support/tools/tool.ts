/** Owns the tools that test/run.ts calls: tsc, biome, vitest, wrangler. Ends them when it is told to. */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const KILL_AFTER_MS = 20_000;

/** As `npm start` has it: no program compiles again what an earlier one has. Those write it that end by themselves, not by SIGKILL. */
export const NODE_COMPILE_CACHE = resolve(ROOT, 'node_modules/.cache/berth');

const running = new Set<ChildProcess>();

/** Runs a program of node_modules/.bin or of PATH with its output shown as it comes; throws unless it ends with 0. */
export async function runTool(file: string, args: string[]): Promise<void> {
  await run(file, args, 'inherit');
}

/** As runTool, but its output is returned instead of shown; it is in the error too. */
export function readTool(file: string, args: string[]): Promise<string> {
  return run(file, args, 'pipe');
}

/** Passes a signal on to all that a running tool has started, and kills what has not ended soon after. */
export function stopTools(signal: NodeJS.Signals): void {
  for (const tool of running) {
    signalGroup(tool, signal);
    setTimeout(() => running.has(tool) && signalGroup(tool, 'SIGKILL'), KILL_AFTER_MS).unref();
  }
}

function run(file: string, args: string[], output: 'inherit' | 'pipe'): Promise<string> {
  const tool = spawn(file, args, {
    cwd: ROOT,
    env: {
      ...process.env,
      PATH: `${ROOT}/node_modules/.bin:${process.env.PATH}`,
      WRANGLER_SEND_METRICS: 'false',
      NODE_COMPILE_CACHE,
    },
    stdio: ['ignore', output, output],
    // A group of its own, so that an interrupt from the terminal reaches it once, by way of stopTools.
    detached: true,
  });
  running.add(tool);
  let text = '';
  for (const stream of [tool.stdout, tool.stderr]) {
    stream?.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
  }
  return new Promise<string>((done, fail) => {
    tool.once('error', fail);
    tool.once('close', (code, signal) => {
      if (code === 0) done(text);
      else fail(new Error(`${text}${file} ${args.join(' ')} ended with ${code ?? signal}`));
    });
  }).finally(() => running.delete(tool));
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has just ended.
  }
}
