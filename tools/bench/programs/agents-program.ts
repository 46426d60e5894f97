/**
 * Simulated agents in one process, behind a relay that can drop all connections at once (SIGUSR2). Prints
 * `synced` when all agents have a sync, at first and after each drop, `runs` when all services run, and
 * `ended in <s> s` when the end of all services is acknowledged. At SIGHUP it prints how many services run,
 * how many were started twice, and the p99 of the time from the submission of an execution to its start
 * command, of those since the last SIGHUP whose name is that time, in milliseconds since the epoch.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { openDatabase } from '../../../control-plane/local/open-database.ts';
import { DatabaseError } from '../../../control-plane/store/db/db.ts';
import { type Assignment, keyOf } from '../../../shared/protocol/assignment.ts';
import { type AgentKey, enrol, newAgentKey } from '../../../test/support/agents/enrolment.ts';
import { FrailLine } from '../../../test/support/clients/frail-line.ts';
import type { AgentsLoad } from '../agents.ts';
import { p99 } from '../figure.ts';
import { simulateAgent } from './simulated-agent.ts';

/** Number of connections made at a time at the beginning. */
const JOINING = 50;
/** Longest pause before another attempt to register. */
const MAX_RETRY_MS = 200;

const {
  agents,
  services,
  databaseUrl,
  outputBytesPerS = 0,
  prefix = 'host',
  ends = false,
  cores,
  ...place
} = JSON.parse(process.argv[2] ?? '') as AgentsLoad;
const db = await openDatabase(databaseUrl, undefined);
const relay = await FrailLine.to(place.url);
const synced = new Set<string>();
const runs = new Set<string>();
/** Services that an agent has ever started. */
const startedServices = new Set<number>();
let running = 0;
let ended = 0;
let firstMs = Number.POSITIVE_INFINITY;
let startedTwice = 0;
let latenciesMs: number[] = [];
let joined = 0;
await Promise.all(Array.from({ length: JOINING }, joinMany));
await db.close();
process.on('SIGUSR2', () => {
  synced.clear();
  relay.break();
});

process.on('SIGHUP', () => {
  console.log(`${running} run, ${startedTwice} twice, p99 ${p99(latenciesMs)} of ${latenciesMs.length}`);
  latenciesMs = [];
});

async function joinMany(): Promise<void> {
  while (joined < agents) {
    const name = `${prefix}${joined++}`;
    const key = newAgentKey();
    const hostId = await enrolled(name, key);
    await new Promise<void>((done) => {
      const events = {
        synced: () => {
          done();
          synced.add(name);
          if (synced.size === agents) console.log('synced');
        },
        started: (assignment: Assignment, isRunning: boolean) => {
          if (isRunning) return;
          running += 1;
          if (startedServices.has(assignment.service)) startedTwice += 1;
          startedServices.add(assignment.service);
          const submittedMs = Number(new Map(assignment.environment).get('EXECUTION_NAME'));
          if (submittedMs > 0) {
            latenciesMs.push(Date.now() - submittedMs);
            firstMs = Math.min(firstMs, submittedMs);
          }
          const before = runs.size;
          if (runs.add(keyOf(assignment)).size === services && before < services) console.log('runs');
        },
        stopped: () => {
          running -= 1;
        },
        ended: () => {
          ended += 1;
          if (ended === services) console.log(`ended in ${(Date.now() - firstMs) / 1_000} s`);
        },
      };
      const sized = cores === undefined ? {} : { cores };
      const options = { ...place, ...sized, url: relay.url, name, hostId, key, ends, outputBytesPerS };
      void simulateAgent(options, events, new AbortController().signal);
    });
  }
}

/** Tries again with a new token while another writer has the database locked. */
async function enrolled(name: string, key: AgentKey): Promise<number> {
  for (;;)
    try {
      return await enrol(place, db, name, key);
    } catch (error) {
      const isBusy =
        error instanceof DatabaseError ? error.kind === 'unavailable' : /: 503 /.test(String(error));
      if (!isBusy) throw error;
      await pause(Math.random() * MAX_RETRY_MS);
    }
}
