/** `berth ps`, `get`, `explain`, `endpoints`, `stop` and `rm`. */
import type { Command } from 'commander';
import {
  type Berth,
  BerthError,
  type Execution,
  type ExecutionFilter,
  type Service,
} from '../../client/berth.ts';
import { readDescription } from '../description.ts';
import { idOf, placeOf, repeated, servicesNamed } from '../inputs/arguments.ts';
import { durationOf, durationText } from '../inputs/durations.ts';
import { forEachId } from '../inputs/named.ts';
import { selectedIds } from '../inputs/selection.ts';
import { addForm, type Form, jsonOf, printChange, printList } from '../terminal/list.ts';
import { onOneLine, table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { ageOf, timeOf } from '../terminal/time.ts';

const DEFAULT_LIMIT = 20;
const IS_ID = /^\d+$/;
const FILTER_HELP = 'those that the filters of the API find, such as status=queued; may be repeated';
/** Statuses of answers: the execution has ended, or is gone. */
const ENDED = 409;
const GONE = 404;

interface Selection {
  filter?: string[];
}

export function addExecutionCommands(
  program: Command,
  terminal: Terminal,
  connect: () => Promise<Berth>,
): void {
  program
    .command('ps')
    .aliases(['list', 'ls'])
    .description('List executions, the newest first')
    .option('--status <status>', 'in this state only, such as running')
    .option('--name <name>', 'of this name only')
    .option('-n, --limit <number>', 'at most so many', String(DEFAULT_LIMIT))
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Form & ListOptions) => list(terminal, connect, options));
  program
    .command('get <id>')
    .description('Show an execution and its services; ID/SERVICE: and one of its services')
    .option('--json', 'as JSON')
    .action((given: string, options: Form) => show(terminal, connect, given, options));
  program
    .command('explain <id|file>')
    .description('Why an execution waits, or what would become of a description')
    .option('--json', 'as JSON')
    .action((given: string, options: Form) => explain(terminal, connect, given, options));
  program
    .command('endpoints <id>')
    .description('List the endpoints of an execution')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'URLs only')
    .action(async (id: string, { json, quiet }: Form) => {
      const endpoints = await (await connect()).endpoints(idOf(id));
      if (json) return terminal.out(jsonOf(endpoints));
      if (quiet) return terminal.out(endpoints.map(([, url]) => `${onOneLine(url)}\n`).join(''));
      await terminal.out(table(['ENDPOINT', 'URL'], endpoints, terminal.columns));
    });
  addChangeCommands(program, terminal, connect);
}

function addChangeCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const stop = program
    .command('stop [id...]')
    .description('Terminate executions; - reads their ids from standard input')
    .option('--filter <field=value>', FILTER_HELP, repeated)
    .action(async (given: string[], { filter = [], ...form }: Selection & Form) => {
      const berth = await connect();
      const ids = await selectedIds(terminal, berth, given, filter, hasNotEnded);
      const isDone = filter.length > 0 ? [ENDED, GONE] : [ENDED];
      await forEachId(
        terminal,
        ids,
        form,
        unlessDone((id) => berth.terminate(id), isDone),
      );
    });
  const limit = program
    .command('limit <id> <time>')
    .description('Change the time limit of an execution, such as 90m from its placement on, or none')
    .action(async (given: string, time: string, form: Form) => {
      const [id, time_limit] = [idOf(given), time === 'none' ? null : durationOf(time)];
      await (await connect()).limitTime(id, time_limit);
      await printChange(terminal, form, id, { changed: { id, time_limit }, text: '' });
    });
  const rm = program
    .command('rm [id...]')
    .description(
      'Delete executions with their logs; those that run are terminated. - reads ids from standard input',
    )
    .option('--filter <field=value>', FILTER_HELP, repeated)
    .action(async (given: string[], { filter = [], ...form }: Selection & Form) => {
      const berth = await connect();
      const ids = await selectedIds(terminal, berth, given, filter);
      const act = (id: number) => berth.remove(id);
      await forEachId(terminal, ids, form, filter.length > 0 ? unlessDone(act, [GONE]) : act);
    });
  for (const command of [stop, limit, rm]) addForm(command);
}

const hasNotEnded = ({ status }: { status: string }): boolean => !['terminated', 'error'].includes(status);

/** What is done already is not a failure. */
const unlessDone =
  (act: (id: number) => Promise<void>, isDone: readonly number[]) =>
  (id: number): Promise<void> =>
    act(id).catch((error: unknown) => {
      if (!(error instanceof BerthError) || !isDone.includes(error.status)) throw error;
    });

interface ListOptions {
  status?: string;
  name?: string;
  limit: string;
}

async function list(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  { status, name, limit, ...form }: Form & ListOptions,
): Promise<void> {
  const filter: ExecutionFilter = { limit: idOf(limit), ...(status && { status }), ...(name && { name }) };
  const berth = await connect();
  const executions = await berth.executions(filter);
  const owners = form.json || form.quiet ? undefined : await ownersOf(berth, executions);
  const nowMs = Date.now();
  const heads = ['ID', 'STATUS', 'SUBMITTED', ...(owners ? ['OWNER'] : []), 'NAME', 'ERROR', 'WAITS FOR'];
  await printList(terminal, form, executions, heads, (one) => [
    String(one.id),
    one.status,
    ageOf(one.time_submit, nowMs),
    ...(owners ? [owners.get(one.user_id) ?? String(one.user_id)] : []),
    one.name,
    one.error_message ?? '',
    one.waiting_for?.[0] ?? '',
  ]);
}

/** The names of the owners by their ids; undefined if all executions are the user's own. */
async function ownersOf(
  berth: Berth,
  executions: readonly Execution[],
): Promise<ReadonlyMap<number, string> | undefined> {
  if (executions.length === 0) return undefined;
  const own = await berth.user();
  if (executions.every(({ user_id }) => user_id === own.id)) return undefined;
  // A role may see others' executions, and not the users.
  const users = await berth.users.list().catch(() => [own]);
  return new Map(users.map(({ id, username }) => [id, username]));
}

async function show(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: string,
  { json }: Form,
): Promise<void> {
  const { id, service } = placeOf(given);
  const berth = await connect();
  const execution = await berth.execution(id);
  const all = await Promise.all(execution.services.map((one) => berth.service(one)));
  const services = servicesNamed(id, all, service);
  if (json) return terminal.out(jsonOf({ ...execution, services }));
  const { name, status, error_message, time_submit, time_start, time_end, time_limit } = execution;
  const lines = [
    ['Execution', `${id}  ${name}`],
    ['Status', error_message === null ? status : `${status}: ${error_message}`],
    ['Submitted', timeOf(time_submit)],
    ...(time_start === null ? [] : [['Started', timeOf(time_start)]]),
    ...(time_limit ? [['Time limit', `${durationText(time_limit)} from its placement on`]] : []),
    ...(time_end === null ? [] : [['Ended', timeOf(time_end)]]),
    ...(execution.description.share === 'users'
      ? [['Shared', 'everybody may use its web applications']]
      : []),
  ];
  await terminal.out(
    lines.map(([what = '', text = '']) => `${what.padEnd(12)}${onOneLine(text)}\n`).join(''),
  );
  const nowMs = Date.now();
  const rows = services.map((one) => [
    String(one.id),
    one.name,
    one.status,
    one.backend_status,
    one.ip_address,
    detailOf(one, nowMs),
  ]);
  const heads = ['SERVICE', 'NAME', 'STATUS', 'CONTAINER', 'ADDRESS', 'DETAIL'];
  await terminal.out(`\n${table(heads, rows, terminal.columns)}`);
  if (service !== undefined) await terminal.out(`\n${startTable(services, terminal.columns)}`);
}

/** What its host does for it, when it is started again, or how it ended. */
function detailOf({ error_message, progress, time_restart }: Service, nowMs: number): string {
  const restartS = Math.ceil((time_restart ?? 0) - nowMs / 1_000);
  const restart = restartS > 0 ? `restarting in ${durationText(restartS)}` : '';
  return [restart, error_message ?? progress ?? ''].filter(Boolean).join('; ');
}

/** The starts of each service, the oldest first. */
function startTable(services: readonly Service[], columns: number | undefined): string {
  const rows = services.flatMap(({ name, history = [] }) =>
    history.map(({ start, host, time_start, time_run, time_end, reason, ended_execution }) => [
      name,
      String(start),
      host,
      timeOf(time_start),
      time_run === null ? '' : timeOf(time_run),
      time_end === null ? '' : timeOf(time_end),
      `${reason}${ended_execution ? ' (ended the execution)' : ''}`,
    ]),
  );
  return table(['NAME', 'START', 'HOST', 'STARTED', 'RUNNING', 'ENDED', 'HOW'], rows, columns);
}

async function explain(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: string,
  { json }: Form,
): Promise<void> {
  const explanation = IS_ID.test(given)
    ? await (await connect()).explain(idOf(given))
    : await (await connect()).explainApplication(await readDescription(given, terminal));
  if (json) return terminal.out(jsonOf(explanation));
  const { summary, waiting_for, reasons, quota } = explanation;
  const details = [...waiting_for, ...quota.map(({ text }) => text), ...reasons.map(({ text }) => text)];
  const further = new Set(details.filter((text) => !isSame(text, summary)));
  const lines = [summary, ...[...further].map((text) => `- ${text}`)];
  await terminal.out(lines.map((line) => `${onOneLine(line)}\n`).join(''));
}

/** Whether both are one sentence, with its full stop or without. */
const isSame = (one: string, other: string): boolean => one.replace(/\.$/, '') === other.replace(/\.$/, '');
