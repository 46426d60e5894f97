/** Starts the client of a stream (flow-program.ts) in a process of its own. */
import { type Program, startProgram } from '../../../test/support/hosts/process.ts';

/** Where the bytes go. */
export type Way =
  | { by: 'berth'; url: string; password: string; service: number; port: number }
  | { by: 'bare relay'; port: number }
  | { by: 'http'; address: string; port: number; headers: Record<string, string> };

/** Task of flow-program.ts. */
export interface Flow {
  way: Way;
  /** From the service to the client, to the service, or small pieces there and back, one after the other. */
  kind: 'down' | 'up' | 'echo';
  /** For `down` by Berth. Default: as many as go. */
  bytesPerS?: number;
  seconds: number;
}

export interface FlowResult {
  megabytesPerS: number;
  /** Round trips of `echo`. */
  medianMs: number;
  p99Ms: number;
}

const MAX_START_MS = 30_000;

/** Rejects if the stream breaks off. */
export const runFlow = (flow: Flow): Promise<FlowResult> => resultOf(start(flow), flow.seconds);

/** Lets bytes flow until the returned function is called, which resolves to the result. */
export async function startFlow(flow: Omit<Flow, 'seconds'>): Promise<() => Promise<FlowResult>> {
  const program = start({ ...flow, seconds: 3_600 });
  await program.waitFor(/^flows$/m, MAX_START_MS);
  return () => {
    process.kill(program.pid, 'SIGTERM');
    return resultOf(program, 0);
  };
}

const start = (flow: Flow): Program =>
  startProgram(['tools/bench/streams/flow-program.ts', JSON.stringify(flow)]);

async function resultOf(program: Program, seconds: number): Promise<FlowResult> {
  const ended = await program.waitForEnd(seconds * 1_000 + MAX_START_MS);
  if (ended !== 0) throw new Error(`the client of a stream ended with ${ended}: ${program.output}`);
  const [line = ''] = await program.waitFor(/^\{.*\}$/m);
  return JSON.parse(line) as FlowResult;
}
