/** `berth top`: hosts with what they use, and what services have reserved. */
import type { Command } from 'commander';
import { type Berth, BerthError } from '../../client/berth.ts';
import { sizeText } from '../../shared/sizes.ts';
import { Screen } from '../terminal/screen.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

/** Most executions whose services are listed: the newest that run. */
const MAX_EXECUTIONS = 100;
const REDRAW_MS = 2_000;
const FORBIDDEN = 403;

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
      if (json) return terminal.out(`${JSON.stringify(await usageOf(berth))}\n`);
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
        ...{ execution_id: id, execution_name, name, count },
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
  ...[one.name, one.state, String(one.containers)],
  ...[one.memory_used, one.memory_reserved, one.memory_total].map(sizeOrDash),
  ...[one.cores_used, one.cores_reserved, one.cores_total].map(coresOrDash),
];

const SERVICE_HEADS = ['EXECUTION', 'NAME', 'SERVICE', 'INSTANCES', 'MEMORY EACH', 'CORES EACH'];

const serviceRow = (one: ServiceGroup): string[] => [
  ...[String(one.execution_id), one.execution_name, one.name, String(one.count)],
  ...[sizeOrDash(one.memory_reserved), coresOrDash(one.cores_reserved)],
];

const sizeOrDash = (bytes: number | null): string => (bytes === null ? '-' : sizeText(bytes));
const coresOrDash = (cores: number | null): string =>
  cores === null ? '-' : String(Number(cores.toFixed(1)));
