/** The monthly cost of a deployment on Cloudflare, from what the program sends and from prices. Pure. */
import {
  AWAKE_MS,
  CALLS_PER_MESSAGE,
  CPU_MS_PER_REQUEST,
  execution,
  idle,
  OBJECT_ROWS_PER_EXECUTION,
  ROWS_PER_HOST_OF_A_WAKE,
  requeue,
} from './counts.ts';
import { cloudflare, costOf, MESSAGES_PER_REQUEST, OBJECT_GB, tursoPlans } from './prices.ts';

export interface Load {
  hosts: number;
  submissionsPerMinute: number;
  /** True with `BERTH_HOST_LOSS=requeue`. */
  requeues: boolean;
}

/** What is used in a month of 30 days. */
export interface Usage {
  requests: number;
  cpuMs: number;
  /** Requests to objects as they are billed: calls, alarms, and messages at their ratio. */
  objectRequests: number;
  gbSeconds: number;
  alarms: number;
  /** Rows in the storage of objects: settings of alarms, and what is saved before a sleep. */
  rowsWritten: number;
  databaseRowsRead: number;
  databaseRowsWritten: number;
}

export interface Cost {
  workers: number;
  objects: number;
  turso: { plan: string; price: number };
  total: number;
}

const MINUTES = 30 * 24 * 60;

export function usageOf({ hosts, submissionsPerMinute, requeues }: Load): Usage {
  const executions = submissionsPerMinute * MINUTES;
  const requests = executions * execution.requests;
  const gateways = Math.ceil(hosts / idle.hostsPerGateway);
  const { alarmsPerMinute } = requeues ? requeue : idle;
  const alarms = (alarmsPerMinute + gateways * idle.alarmsPerGatewayMinute) * MINUTES;
  const reports = requeues ? hosts * requeue.messagesPerHostMinute * MINUTES : 0;
  const messages = reports + executions * execution.messages;
  const monthMs = (1 + gateways) * MINUTES * 60_000;
  const awakeMs = requeues
    ? monthMs
    : Math.min(monthMs, alarms * AWAKE_MS.alarm + executions * AWAKE_MS.execution);
  return {
    requests,
    cpuMs: requests * CPU_MS_PER_REQUEST,
    objectRequests:
      executions * execution.objectCalls +
      alarms +
      messages / MESSAGES_PER_REQUEST +
      (requeues ? callsOfSignsOfLife(hosts) * MINUTES : 0) +
      executions * execution.messages * CALLS_PER_MESSAGE,
    gbSeconds: (awakeMs / 1_000) * OBJECT_GB,
    alarms,
    // An alarm that has rung is set again, and the time awake is written.
    rowsWritten: 2 * alarms + executions * OBJECT_ROWS_PER_EXECUTION,
    databaseRowsRead:
      executions * execution.rowsRead +
      (requeues ? 0 : idle.alarmsPerMinute * MINUTES * hosts * ROWS_PER_HOST_OF_A_WAKE),
    databaseRowsWritten: executions * execution.rowsWritten,
  };
}

/** Calls between gateways and coordinator in a minute. The last gateway may have few hosts. */
function callsOfSignsOfLife(hosts: number): number {
  const { maxCallsPerGatewayMinute, messagesPerHostMinute } = requeue;
  const callsOf = (held: number) =>
    Math.min(maxCallsPerGatewayMinute, held * messagesPerHostMinute * CALLS_PER_MESSAGE);
  const full = Math.floor(hosts / idle.hostsPerGateway);
  return full * callsOf(idle.hostsPerGateway) + callsOf(hosts % idle.hostsPerGateway);
}

export function costOfUsage(usage: Usage): Cost {
  const workers =
    cloudflare.plan + costOf(usage.requests, cloudflare.requests) + costOf(usage.cpuMs, cloudflare.cpuMs);
  const objects =
    costOf(usage.objectRequests, cloudflare.objectRequests) +
    costOf(usage.gbSeconds, cloudflare.gbSeconds) +
    costOf(usage.rowsWritten, cloudflare.rowsWritten);
  const turso = tursoPlanOf(usage);
  return { workers, objects, turso, total: workers + objects + turso.price };
}

/** The cheapest plan that includes as many rows. Throws if none does. */
function tursoPlanOf({ databaseRowsRead, databaseRowsWritten }: Usage): Cost['turso'] {
  const plan = tursoPlans.find(
    ({ rowsRead, rowsWritten }) => databaseRowsRead <= rowsRead && databaseRowsWritten <= rowsWritten,
  );
  if (!plan) throw new Error('no plan includes as many rows');
  return { plan: plan.name, price: plan.price };
}
