/** `berth audit`: who has changed what, for administrators. */
import type { Command } from 'commander';
import type { AuditEntry, AuditFilter, Berth } from '../../client/berth.ts';
import { timeMsOf } from '../inputs/arguments.ts';
import { printList } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { timeOf } from '../terminal/time.ts';

const DEFAULT_LIMIT = '50';

interface Options {
  user?: string;
  action?: string;
  target?: string;
  since?: string;
  until?: string;
  limit: string;
  json?: boolean;
  quiet?: boolean;
}

export function addAuditCommand(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  program
    .command('audit')
    .description('List changes, logins and refusals of all users, the latest last; for administrators')
    .option('--user <name>', 'those of this user')
    .option('--action <action>', 'those of this kind, such as update-user or log-in')
    .option('--target <target>', 'those done to one kind of thing, such as user, or to one thing: user/7')
    .option('--since <time>', 'those from then on: an age such as 7d, or a time as it is shown')
    .option('--until <time>', 'those before then')
    .option('--limit <count>', 'at most so many, the latest; 0: all', DEFAULT_LIMIT)
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Options) => list(terminal, connect, options));
}

async function list(terminal: Terminal, connect: () => Promise<Berth>, options: Options): Promise<void> {
  const limit = countOf(options.limit);
  const filter = filterOf(options);
  const { audit } = await connect();
  const entries = (await audit.latest(filter, limit)).reverse();
  const heads = ['TIME', 'USER', 'BY', 'FROM', 'ACTION', 'TARGET', 'OUTCOME'];
  await printList(terminal, options, entries, heads, rowOf);
}

const filterOf = ({ user, action, target, since, until }: Options): AuditFilter => ({
  ...(user !== undefined && { user }),
  ...(action !== undefined && { action }),
  ...(target !== undefined && { target }),
  ...(since !== undefined && { since: timeMsOf(since) / 1_000 }),
  ...(until !== undefined && { until: timeMsOf(until) / 1_000 }),
});

function rowOf(entry: AuditEntry): string[] {
  const { time, user, credential, token_id, address, action, fields, target, target_name } = entry;
  return [
    timeOf(time),
    user ?? '-',
    token_id === null ? credential : `${credential} ${token_id}`,
    address ?? '-',
    fields.length === 0 ? action : `${action} (${fields.join(', ')})`,
    [target, target_name].filter((part) => part !== null).join(' ') || '-',
    entry.count === 1 ? entry.outcome : `${entry.outcome}, ${entry.count} times`,
  ];
}

/** Infinity for 0. Throws for text that is not a whole number. */
function countOf(text: string): number {
  if (!/^\d{1,9}$/.test(text))
    throw new Error(`${text} is not a number of entries; give one such as 100, or 0 for all.`);
  return Number(text) || Number.POSITIVE_INFINITY;
}
