/** The tables of docs/cloudflare.md that the formula gives, as Markdown. */
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
import { costOfUsage, type Load, type Usage, usageOf } from './formula.ts';
import { cloudflare, MILLION, type Price, tursoPlans } from './prices.ts';

const HOSTS = [10, 100, 1000];
const LOADS: readonly Load[] = [
  ...HOSTS.map((hosts) => ({ hosts, submissionsPerMinute: 0, requeues: false })),
  ...HOSTS.map((hosts) => ({ hosts, submissionsPerMinute: 10, requeues: false })),
  ...HOSTS.map((hosts) => ({ hosts, submissionsPerMinute: 0, requeues: true })),
];

export const countsTable = (): string =>
  table(
    ['', 'count'],
    [
      ['reports of one idle host, a minute', String(idle.messagesPerHostMinute)],
      ['pulses of it, which the runtime answers', String(idle.pulsesPerHostMinute)],
      ['calls between an idle gateway and the coordinator, a minute', String(idle.gatewayCallsPerMinute)],
      ['alarms of a gateway, a minute', String(idle.alarmsPerGatewayMinute)],
      ['alarms of the coordinator, a minute', String(idle.alarmsPerMinute)],
      ['requests to the database by an idle cluster, a minute', String(idle.databaseRequestsPerMinute)],
      ['with `requeue`: reports of one idle host, a minute', String(requeue.messagesPerHostMinute)],
      ['calls of its gateway, at most', String(requeue.maxCallsPerGatewayMinute)],
      ['requests to the database', String(requeue.databaseRequestsPerMinute)],
      ['alarms of the coordinator', String(requeue.alarmsPerMinute)],
      ['requests for one execution', String(execution.requests)],
      ['calls from the Worker to the object for it', String(execution.objectCalls)],
      ['messages of its agent', String(execution.messages)],
      ['calls between gateway and coordinator for each of these', String(CALLS_PER_MESSAGE)],
      ['requests to the database for it', String(execution.databaseRequests)],
      ['rows of the database read for it', String(execution.rowsRead)],
      ['rows written, with those of indexes', String(execution.rowsWritten)],
      ['processor time of a request (assumed)', `${CPU_MS_PER_REQUEST} ms`],
      ['rows that objects write for an execution (assumed)', String(OBJECT_ROWS_PER_EXECUTION)],
      [
        'rows of the database that a wake of the coordinator reads for each host (assumed)',
        String(ROWS_PER_HOST_OF_A_WAKE),
      ],
      ['time awake after an alarm (assumed)', `${AWAKE_MS.alarm} ms`],
      ['time awake of all objects for an execution (assumed)', `${AWAKE_MS.execution} ms`],
    ],
  );

export const pricesTable = (): string =>
  table(
    ['', 'included in a month', 'beyond that'],
    [
      ['Workers Paid', '', `$${cloudflare.plan.toFixed(2)}, the least for an account`],
      priceRow('requests to the Worker', cloudflare.requests),
      priceRow('processor time, ms', cloudflare.cpuMs),
      priceRow('requests to objects', cloudflare.objectRequests),
      priceRow('active time of objects, GB-s', cloudflare.gbSeconds),
      priceRow('rows written by objects', cloudflare.rowsWritten),
      ...tursoPlans.map(({ name, price, rowsRead, rowsWritten }) => [
        `Turso ${name}, $${price.toFixed(2)}`,
        `${amount(rowsRead)} rows read, ${amount(rowsWritten)} written`,
        'the next plan',
      ]),
    ],
  );

const usageColumns: readonly [name: string, of: keyof Usage][] = [
  ['requests', 'requests'],
  ['requests to objects', 'objectRequests'],
  ['GB-s', 'gbSeconds'],
  ['alarms', 'alarms'],
  ['rows of objects', 'rowsWritten'],
  ['rows written', 'databaseRowsWritten'],
  ['rows read', 'databaseRowsRead'],
];

export const usageTable = (): string =>
  table(
    ['load', ...usageColumns.map(([name]) => name)],
    LOADS.map((load) => [loadText(load), ...usageColumns.map(([, of]) => amount(usageOf(load)[of]))]),
  );

export const costTable = (): string =>
  table(
    ['load', 'Worker', 'object', 'Turso', 'sum'],
    LOADS.map((load) => {
      const { workers, objects, turso, total } = costOfUsage(usageOf(load));
      const plan = `${dollars(turso.price)} (${turso.plan})`;
      return [loadText(load), dollars(workers), dollars(objects), plan, dollars(total)];
    }),
  );

function loadText({ hosts, submissionsPerMinute, requeues }: Load): string {
  const load = submissionsPerMinute === 0 ? 'idle' : `${submissionsPerMinute} submissions a minute`;
  return `${hosts.toLocaleString('en')} hosts, ${load}${requeues ? ', `requeue`' : ''}`;
}

const priceRow = (name: string, { included, unit, price }: Price): string[] => [
  name,
  amount(included),
  `$${price.toFixed(2)} for ${amount(unit)}`,
];

const dollars = (value: number): string => `$${value.toFixed(2)}`;

/** Three digits are enough. */
function amount(value: number): string {
  if (value < MILLION) return Number(value.toPrecision(3)).toLocaleString('en');
  return `${Number((value / MILLION).toPrecision(3)).toLocaleString('en')} million`;
}

const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
