/** Starts the load generator (load-program.ts) in a process of its own. */
import { type Program, startProgram } from '../../test/support/hosts/process.ts';

export interface Load {
  /** Default: this machine. */
  address?: string;
  port: number;
  method: string;
  /** `{n}` is replaced by `first`, `first` + 1 and so on. */
  path: string;
  first?: number;
  headers?: Record<string, string>;
  /** `{nowMs}` is replaced by the time of sending, in milliseconds since the epoch. */
  body?: string;
  clients: number;
  /** Pause between an answer and the client's next request. Default: none. */
  pauseMs?: number;
  requests: number;
}

export interface LoadResult {
  perSecond: number;
  p99Ms: number;
}

const MAX_DURATION_MS = 300_000;

/** Rejects if any status is not 200. */
export const runLoad = (load: Load): Promise<LoadResult> => resultOf(startLoadProgram(load));

/** Sends requests until the returned function is called, which resolves to the result. */
export function startLoad(load: Omit<Load, 'requests'>): () => Promise<LoadResult> {
  const program = startLoadProgram({ ...load, requests: Number.MAX_SAFE_INTEGER });
  return () => {
    process.kill(program.pid, 'SIGTERM');
    return resultOf(program);
  };
}

const startLoadProgram = (load: Load): Program =>
  startProgram(['tools/bench/programs/load-program.ts', JSON.stringify(load)]);

/** What a program prints as JSON before it ends. Rejects if it fails. */
export async function resultOf<T>(program: Program, maxMs = MAX_DURATION_MS): Promise<T> {
  const ended = await program.waitForEnd(maxMs);
  if (ended !== 0) throw new Error(`a client of the bench ended with exit code ${ended}: ${program.output}`);
  const [line = ''] = await program.waitFor(/^\{.*\}$/m);
  return JSON.parse(line) as T;
}
