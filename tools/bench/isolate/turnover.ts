/**
 * Clients that end running executions, submit others and read them, over restarts. They remember what was
 * acknowledged.
 */
import { setTimeout as pause } from 'node:timers/promises';
import * as z from 'zod';
import { application } from '../application.ts';

const CLIENTS = 4;
/** Between an answer and the client's next request. */
const PAUSE_MS = 50;
const submitted = z.object({ execution_id: z.number() });

export interface Turnover {
  /** Executions whose submission was acknowledged. */
  submissions: ReadonlySet<number>;
  /** Executions whose termination was acknowledged. */
  terminations: ReadonlySet<number>;
  /** The latencies since the last call, and what became of the requests that failed. */
  take(): { latenciesMs: number[]; failures: string[] };
  stop(): Promise<void>;
}

/** Ends the executions from `first` on. */
export function startTurnover(url: string, cookie: string, first: number): Turnover {
  const submissions = new Set<number>();
  const terminations = new Set<number>();
  let latenciesMs: number[] = [];
  let failures: string[] = [];
  let next = first;
  let isOver = false;
  /** Undefined if the request failed, so that its outcome is unknown. */
  const send = async (method: string, path: string, body?: string): Promise<string | undefined> => {
    await pause(PAUSE_MS);
    const startMs = performance.now();
    const init = { method, headers: { cookie }, ...(body !== undefined && { body }) };
    try {
      const response = await fetch(`${url}/api/0.7/${path}`, init);
      const text = await response.text();
      if (response.ok) {
        latenciesMs.push(performance.now() - startMs);
        return text;
      }
      failures.push(`${method} ${path}: ${response.status} ${text}`);
    } catch (error) {
      failures.push(`${method} ${path}: ${error} (${(error as Error).cause})`);
    }
    return undefined;
  };
  const client = async () => {
    while (!isOver) {
      const ending = next++;
      if ((await send('DELETE', `execution/${ending}`)) !== undefined) terminations.add(ending);
      const body = JSON.stringify({ name: String(Date.now()), application: application() });
      const answer = await send('POST', 'execution', body);
      if (answer === undefined) continue;
      const id = submitted.parse(JSON.parse(answer)).execution_id;
      submissions.add(id);
      await send('GET', `execution/${id}`);
      await send('GET', 'execution?limit=20');
    }
  };
  const clients = Array.from({ length: CLIENTS }, client);
  return {
    submissions,
    terminations,
    take() {
      const taken = { latenciesMs, failures };
      latenciesMs = [];
      failures = [];
      return taken;
    },
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };
}
