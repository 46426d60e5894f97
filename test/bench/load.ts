/** Owns the calls of the load generator (load-program.ts), which is a process of its own. */
import { startProgram } from '../support/process.ts';

export interface Load {
  port: number;
  method: string;
  /** `{n}` becomes `first`, `first` + 1 and so on. */
  path: string;
  first?: number;
  headers?: Record<string, string>;
  /** `{nowMs}` becomes the time of sending, in milliseconds since the epoch. */
  body?: string;
  clients: number;
  requests: number;
}

export interface LoadResult {
  perSecond: number;
  p99Ms: number;
}

const LIMIT_MS = 300_000;

/** Rejects where any answer was not 200. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const program = startProgram(['test/bench/load-program.ts', JSON.stringify(load)]);
  const ended = await program.waitForEnd(LIMIT_MS);
  if (ended !== 0) throw new Error(`the load generator ended with ${ended}: ${program.output}`);
  const [line = ''] = (await program.waitFor(/^\{.*\}$/m)) ?? [];
  return JSON.parse(line) as LoadResult;
}
