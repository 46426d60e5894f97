/**
 * All agents of the group `agents` in one process. Prints `joined` once all agents have a sync, `ended <n>`
 * while executions end, and an AgentsResult after the last end. The name of an execution is the time of its
 * submission, in milliseconds since the epoch.
 */
import { openEmbedded } from '../../../control-plane/store/db/embedded.ts';
import { type Assignment, keyOf } from '../../../shared/protocol/assignment.ts';
import { enrol, newAgentKey } from '../../../test/support/agents/enrolment.ts';
import type { AgentsLoad, AgentsResult } from '../groups/agents.ts';
import { simulateAgent } from './simulated-agent.ts';

/** Number of connections made at a time. */
const JOINING = 50;
const PROGRESS_MS = 1_000;

const { agents, executions, databaseUrl, ...place } = JSON.parse(process.argv[2] ?? '') as AgentsLoad;
const db = await openEmbedded(databaseUrl);
const started = new Set<string>();
const latenciesMs: number[] = [];
let firstMs = Number.POSITIVE_INFINITY;
let dialled = 0;
let joined = 0;
let ended = 0;
let duplicates = 0;

for (let n = 0; n < JOINING; n++) void dial();
setInterval(() => console.log(`ended ${ended}`), PROGRESS_MS);

async function dial(): Promise<void> {
  if (dialled === agents) return;
  const name = `host${dialled++}`;
  const key = newAgentKey();
  const hostId = await enrol(place, db, name, key);
  const events = {
    synced: () => {
      joined += 1;
      if (joined === agents) console.log('joined');
      void dial();
    },
    started: (assignment: Assignment) => {
      const submittedMs = Number(new Map(assignment.environment).get('EXECUTION_NAME'));
      firstMs = Math.min(firstMs, submittedMs);
      latenciesMs.push(Date.now() - submittedMs);
      if (started.has(keyOf(assignment))) duplicates += 1;
      started.add(keyOf(assignment));
    },
    ended: () => {
      ended += 1;
      if (ended === executions) finish();
    },
    closed: () => {
      console.error(`agent ${name} lost its connection, which must not happen here`);
      process.exit(1);
    },
  };
  await simulateAgent({ ...place, name, hostId, key, ends: true }, events, new AbortController().signal);
}

function finish(): void {
  const perSecond = executions / ((Date.now() - firstMs) / 1000);
  latenciesMs.sort((a, b) => a - b);
  const p99Ms = latenciesMs[Math.floor(latenciesMs.length * 0.99)] ?? Number.NaN;
  const result: AgentsResult = { perSecond, p99Ms, started: started.size, duplicates };
  console.log(JSON.stringify(result));
  process.exit(0);
}
