/** The monthly cost of a deployment on Cloudflare, from what the program sends and from prices. Pure. */
import { CALLS_PER_MESSAGE, CPU_MS_PER_REQUEST, execution, idle } from './counts.ts';
import { cloudflare, costOf, MESSAGES_PER_REQUEST, OBJECT_GB, tursoPlans } from './prices.ts';

export interface Load {
  hosts: number;
  submissionsPerMinute: number;
}

/** What is used in a month of 30 days. */
export interface Usage {
  requests: number;
  cpuMs: number;
  /** Requests to objects as they are billed: calls, alarms, and messages at their ratio. */
  objectRequests: number;
  gbSeconds: number;
  /** Rows in the object's own storage: settings of the alarm. */
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

export function usageOf({ hosts, submissionsPerMinute }: Load): Usage {
  const executions = submissionsPerMinute * MINUTES;
  const requests = executions * execution.requests;
  const alarms = idle.alarmsPerMinute * MINUTES;
  const messages = hosts * idle.messagesPerHostMinute * MINUTES + executions * execution.messages;
  const gateways = Math.ceil(hosts / idle.hostsPerGateway);
  return {
    requests,
    cpuMs: requests * CPU_MS_PER_REQUEST,
    objectRequests:
      executions * execution.objectCalls +
      alarms +
      messages / MESSAGES_PER_REQUEST +
      callsOfSignsOfLife(hosts) * MINUTES +
      executions * execution.messages * CALLS_PER_MESSAGE,
    gbSeconds: (1 + gateways) * idle.awakeShare * MINUTES * 60 * OBJECT_GB,
    rowsWritten: alarms,
    databaseRowsRead: executions * execution.rowsRead,
    databaseRowsWritten: executions * execution.rowsWritten,
  };
}

/** Calls between gateways and coordinator in a minute. The last gateway may have few hosts. */
function callsOfSignsOfLife(hosts: number): number {
  const { hostsPerGateway, maxCallsPerGatewayMinute, messagesPerHostMinute } = idle;
  const callsOf = (held: number) =>
    Math.min(maxCallsPerGatewayMinute, held * messagesPerHostMinute * CALLS_PER_MESSAGE);
  return Math.floor(hosts / hostsPerGateway) * callsOf(hostsPerGateway) + callsOf(hosts % hostsPerGateway);
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
