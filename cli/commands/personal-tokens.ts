/** `berth token`: personal access tokens, with which programs act for a user. */
import type { Command } from 'commander';
import type { Berth, NewPersonalToken, PersonalTokenFields } from '../../client/berth.ts';
import { repeated } from '../inputs/arguments.ts';
import { forEachNamed, idNamed } from '../inputs/named.ts';
import { ownPassword } from '../inputs/passwords.ts';
import { addForm, type Form, jsonOf, printList } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { ageOf, timeOf } from '../terminal/time.ts';

interface CreateOptions extends Form {
  /** As typed: the control plane checks them. */
  scope: PersonalTokenFields['scopes'];
  expires?: string;
  passwordStdin?: boolean;
}

export function addPersonalTokenCommands(
  program: Command,
  terminal: Terminal,
  connect: () => Promise<Berth>,
): void {
  const token = program
    .command('token')
    .alias('tokens')
    .description('Personal access tokens, with which programs act for you');
  token
    .command('create <name>')
    .description('Create a token, and print it: it is shown only once. Asks for your password')
    .requiredOption(
      '--scope <scope>',
      'read, submit, operate or admin; may be given several times. Each includes read',
      repeated,
    )
    .option('--expires <days>', 'days for which it is valid, or never; by default 90')
    .option('--password-stdin', 'read your password from standard input')
    .option('--json', 'as JSON, with its id')
    .option('-q, --quiet', 'the token only')
    .action((name: string, options: CreateOptions) => create(terminal, connect, name, options));
  token
    .command('ls')
    .description('List your tokens')
    .option('--user <user>', 'those of another user, by id or name, for administrators')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Form & { user?: string }) => list(terminal, connect, options));
  const rm = token
    .command('rm <token...>')
    .description('Revoke tokens, by id or name')
    .action(async (given: string[], form: Form) => {
      const { tokens } = await connect();
      await forEachNamed(terminal, tokens, given, form, (id) => tokens.remove(id));
    });
  addForm(rm);
}

async function create(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  name: string,
  { scope, expires, passwordStdin, json, quiet }: CreateOptions,
): Promise<void> {
  const days = expires === undefined ? undefined : daysOf(expires);
  const { tokens } = await connect();
  const made: NewPersonalToken = await tokens.create({
    name,
    scopes: scope,
    ...(days !== undefined && { expires_days: days }),
    current_password: await ownPassword(terminal, passwordStdin),
  });
  if (json) return terminal.out(jsonOf(made));
  const until = made.expires_at === null ? 'until you revoke it' : `until ${timeOf(made.expires_at)}`;
  if (!quiet)
    terminal.say(
      `This is shown only once. It is valid ${until}; berth token rm ${made.token_id} revokes it.`,
    );
  await terminal.out(`${made.token}\n`);
}

async function list(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  { user, ...form }: Form & { user?: string },
): Promise<void> {
  const { tokens, users } = await connect();
  const all = await tokens.list(user === undefined ? {} : { user_id: await idNamed(users, user) });
  const heads = ['ID', 'NAME', 'SCOPES', 'CREATED', 'EXPIRES', 'LAST USED'];
  await printList(terminal, form, all, heads, (one) => [
    String(one.id),
    one.name,
    one.scopes.join(','),
    timeOf(one.created_at),
    one.expires_at === null ? 'never' : timeOf(one.expires_at),
    one.last_used_at === null ? 'never' : ageOf(one.last_used_at, Date.now()),
  ]);
}

/** Null for `never`. Throws for any other text that is no number of days. */
function daysOf(text: string): number | null {
  if (text === 'never') return null;
  const [, days] = /^([1-9]\d{0,4})d?$/.exec(text) ?? [];
  if (days !== undefined) return Number(days);
  throw new Error(`${text} is not a number of days; give one such as 30 or 30d, or never.`);
}
