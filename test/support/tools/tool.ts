/** Runs the tools of test/run.ts: tsc, biome, vitest, wrangler. */
import { type ChildProcess, spawn } from 'node:child_process';
import { resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../../..');
const KILL_AFTER_MS = 20_000;

/** The compile cache of `npm start` (TEST-4). Programs that end by SIGKILL do not write to it. */
export const NODE_COMPILE_CACHE = resolve(ROOT, 'node_modules/.cache/berth');

const running = new Set<ChildProcess>();

/**
 * Runs a program of node_modules/.bin or of PATH and shows its output. Throws unless the program exits with
 * 0.
 */
export async function runTool(file: string, args: string[]): Promise<void> {
  await run(file, args, 'inherit');
}

/** Runs a program and returns its output. An error contains the output. */
export function readTool(file: string, args: string[]): Promise<string> {
  return run(file, args, 'pipe');
}

/** Sends a signal to the process groups of all running tools, and kills those that do not end in time. */
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
    // Makes a process group, so that an interrupt from the terminal reaches the tool once, by stopTools.
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
