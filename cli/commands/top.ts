/** `berth top`: hosts with what they use, and what services reserve. `berth usage`: what services use. */

import type { Command } from 'commander';
import { type Berth, BerthError, type HostUsage, type ServiceUsage } from '../../client/berth.ts';
import { chosenServices } from '../../client/logs.ts';
import { sizeText } from '../../shared/sizes.ts';
import { placeOf } from '../inputs/arguments.ts';
import { idNamed } from '../inputs/named.ts';
import { jsonOf } from '../terminal/list.ts';
import { Screen } from '../terminal/screen.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { timeOf } from '../terminal/time.ts';

/** Most executions whose services are listed: the newest that run. */
const MAX_EXECUTIONS = 100;
const REDRAW_MS = 2_000;
const FORBIDDEN = 403;
const UNAVAILABLE = 503;

type Host = Awaited<ReturnType<Berth['hosts']['list']>>[number];

/** All instances of one service of the description. */
interface ServiceGroup {
  execution_id: number;
  execution_name: string;
  name: string;
  count: number;
  /** Bytes of each instance; null: the least that the administrator has set. */
  memory_reserved: number | null;
  cores_reserved: number | null;
}

interface Usage {
  /** Null if the user may not see the hosts. */
  hosts: Host[] | null;
  services: ServiceGroup[];
}

export function addTopCommand(
  program: Command,
  terminal: Terminal,
  connect: (signal: AbortSignal) => Promise<Berth>,
): void {
  program
    .command('top')
    .description('Show what hosts use and what services have reserved, every 2 s until q or Ctrl-C')
    .option('--json', 'once, as JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const left = new AbortController();
      const berth = await connect(left.signal);
      if (json) return terminal.out(jsonOf(await usageOf(berth)));
      const text = async () => textOf(await usageOf(berth), terminal.columns);
      const screen = Screen.on(terminal);
      if (!screen) return terminal.out(await text());
      // A request that has no answer yet would keep the program from its end.
      await screen.show(text, REDRAW_MS).finally(() => left.abort());
    });
}

async function usageOf(berth: Berth): Promise<Usage> {
  const [hosts, executions] = await Promise.all([
    berth.hosts.list().catch((error: unknown) => {
      if (error instanceof BerthError && error.status === FORBIDDEN) return null;
      throw error;
    }),
    berth.executions({ status: 'running', limit: MAX_EXECUTIONS }),
  ]);
  const services = executions.flatMap(({ id, name: execution_name, description }) =>
    description.services.map(
      ({ name, total_count: count, resources }): ServiceGroup => ({
        execution_id: id,
        execution_name,
        name,
        count,
        memory_reserved: resources.memory.min,
        cores_reserved: resources.cores.min,
      }),
    ),
  );
  return { hosts, services };
}

function textOf({ hosts, services }: Usage, columns: number | undefined): string {
  const parts = [
    ...(hosts === null ? [] : [table(HOST_HEADS, hosts.map(hostRow), columns)]),
    table(SERVICE_HEADS, services.map(serviceRow), columns),
  ];
  return parts.join('\n');
}

const HOST_HEADS = [
  'HOST',
  'STATE',
  'CONTAINERS',
  'MEMORY USED',
  'RESERVED',
  'TOTAL',
  'CORES USED',
  'RESERVED',
  'TOTAL',
];

const hostRow = (one: Host): string[] => [
  one.name,
  one.state,
  String(one.containers),
  ...[one.memory_used, one.memory_reserved, one.memory_total].map(sizeOrDash),
  ...[one.cores_used, one.cores_reserved, one.cores_total].map(coresOrDash),
];

const SERVICE_HEADS = ['EXECUTION', 'NAME', 'SERVICE', 'INSTANCES', 'MEMORY EACH', 'CORES EACH'];

const serviceRow = (one: ServiceGroup): string[] => [
  String(one.execution_id),
  one.execution_name,
  one.name,
  String(one.count),
  sizeOrDash(one.memory_reserved),
  coresOrDash(one.cores_reserved),
];

const sizeOrDash = (bytes: number | null): string => (bytes === null ? '-' : sizeText(bytes));
const coresOrDash = (cores: number | null): string =>
  cores === null ? '-' : String(Number(cores.toFixed(1)));

export function addUsageCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('usage [id]')
    .description(
      'Show what each service of an execution uses, or what a host did; ID/SERVICE: what one of them uses',
    )
    .option('--host <host>', 'the last hour of this host, by id or name')
    .option('--json', 'with all samples, as JSON')
    .action(async (given: string | undefined, { host, json }: { host?: string; json?: boolean }) => {
      if ((given === undefined) === (host === undefined))
        throw new Error('Give the id of an execution, or --host with a host.');
      const berth = await connect();
      if (given === undefined) return hostUsage(terminal, berth, host ?? '', json);
      const { id, service } = placeOf(given);
      const chosen = chosenServices(
        id,
        await berth.services(id),
        service === undefined ? undefined : [service],
      );
      const used = await Promise.all(chosen.map((one) => serviceUsageOf(berth, one)));
      await terminal.out(json ? jsonOf(used) : table(USAGE_HEADS, used.map(usageRow), terminal.columns));
    });
}

/** Seconds between two rows of the table; `--json` has all samples. */
const ROW_S = 300;

/** The last hour of a host, the latest first. */
async function hostUsage(terminal: Terminal, berth: Berth, host: string, json = false): Promise<void> {
  const usage = await berth.hosts.usage(await idNamed(berth.hosts, host));
  if (json) return terminal.out(jsonOf(usage));
  const rows: HostUsage['samples'] = [];
  for (const one of usage.samples.toReversed())
    if (rows.length === 0 || (rows.at(-1)?.time ?? 0) - one.time >= ROW_S) rows.push(one);
  const texts = rows.map((one) => [
    timeOf(one.time),
    sizeOrDash(one.memory_reserved),
    sizeOrDash(one.memory_used),
    finer(one.cores_reserved),
    finer(one.cores_used),
  ]);
  await terminal.out(table(HOST_USAGE_HEADS, texts, terminal.columns));
}

const HOST_USAGE_HEADS = ['TIME', 'MEMORY RESERVED', 'IN USE', 'CORES RESERVED', 'IN USE'];

/** What the last start of a service used, or why that can't be read now. */
interface UsedByService extends Partial<ServiceUsage> {
  name: string;
  problem?: string;
}

const serviceUsageOf = (berth: Berth, { id, name }: { id: number; name: string }): Promise<UsedByService> =>
  berth.usage(id).then(
    (usage) => ({ name, ...usage }),
    (error: unknown) => {
      if (error instanceof BerthError && error.status === UNAVAILABLE)
        return { name, problem: error.message };
      throw error;
    },
  );

const USAGE_HEADS = ['SERVICE', 'MEMORY', 'HIGHEST', 'RESERVED', 'CORES', 'AVERAGE', 'RESERVED', 'PROBLEM'];

function usageRow({ name, start, samples = [], reserved, problem = '' }: UsedByService): string[] {
  const last = samples.at(-1);
  const highest = samples.length === 0 ? null : Math.max(...samples.map(({ memory }) => memory));
  return [
    name,
    sizeOrDash(last?.memory ?? null),
    sizeOrDash(highest),
    sizeOrDash(reserved?.memory ?? null),
    finer(last?.cores ?? null),
    finer(averageOf(start ?? null, samples)),
    finer(reserved?.cores ?? null),
    problem,
  ];
}

/** The cores over the whole life. */
function averageOf(start: number | null, samples: ServiceUsage['samples']): number | null {
  const last = samples.at(-1);
  if (start === null || !last) return null;
  const used = samples.map(({ time, cores }, at) => cores * (time - (samples[at - 1]?.time ?? start)));
  return used.reduce((sum, one) => sum + one, 0) / (last.time - start);
}

const finer = (cores: number | null): string => (cores === null ? '-' : String(Number(cores.toFixed(2))));
