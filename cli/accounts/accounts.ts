/** `berth user`, `role` and `quota`, for administrators. */
import type { Command } from 'commander';
import type { Berth } from '../../client/berth.ts';
import { forEachNamed, idNamed } from '../inputs/named.ts';
import { type PasswordOptions, passwordsFor } from '../inputs/passwords.ts';
import { addForm, type Form, jsonOf, printChange, printList } from '../terminal/list.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import {
  type Kind,
  type Names,
  type Options,
  optionsOf,
  quotas,
  roles,
  users,
  valuesIn,
} from './account-fields.ts';

/** What the commands of a kind have in common. */
interface Setting<Item extends { id: number }> {
  kind: Kind<Item>;
  terminal: Terminal;
  connect(): Promise<Berth>;
}

export function addAccountCommands(
  program: Command,
  terminal: Terminal,
  connect: () => Promise<Berth>,
): void {
  addCommands(program, { kind: users, terminal, connect });
  addCommands(program, { kind: roles, terminal, connect });
  addCommands(program, { kind: quotas, terminal, connect });
}

function addCommands<Item extends { id: number }>(program: Command, setting: Setting<Item>): void {
  const { kind, terminal, connect } = setting;
  const { name, hasPassword } = kind;
  const group = program.command(name).alias(`${name}s`).description(`The ${name}s of the control plane`);
  const list = group.command('ls').description(`List the ${name}s`);
  for (const option of optionsOf(kind, 'ls')) list.addOption(option);
  list
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Form & Options) => listAll(setting, options));
  group
    .command(`get <${name}>`)
    .description(`Show a ${name}, by id or name`)
    .option('--json', 'as JSON')
    .action((given: string, options: Form) => show(setting, given, options));
  const create = group.command('create').description(`Create a ${name}, and print its id`);
  for (const option of optionsOf(kind, 'create')) create.addOption(option);
  if (hasPassword) addPasswordOptions(create);
  addForm(create).action((options: Form & Options) => createOne(setting, options));
  const update = group.command(`update <${name}>`).description(`Change some fields of a ${name}`);
  for (const option of optionsOf(kind, 'update')) update.addOption(option);
  if (hasPassword)
    addPasswordOptions(update).option('--current-password', 'with your current one, to change your own');
  addForm(update).action((given: string, options: Form & Options) => updateOne(setting, given, options));
  const rm = group
    .command(`rm <${name}...>`)
    .description(
      `Delete ${name}s${hasPassword ? ', with their executions; their files on hosts stay' : ' that nobody has'}`,
    )
    .action(async (given: string[], form: Form) => {
      const accounts = kind.of(await connect());
      await forEachNamed(terminal, accounts, given, form, (id) => accounts.remove(id));
      if (hasPassword)
        terminal.say(
          'What stays behind: files in workspaces, volumes and images on hosts. No other user gets their number (fs_uid) or workspace.',
        );
    });
  addForm(rm);
}

const addPasswordOptions = (command: Command): Command =>
  command
    .option('--password', 'ask for a new password')
    .option('--password-stdin', 'read the new password from standard input');

async function listAll<Item extends { id: number }>(
  { kind, terminal, connect }: Setting<Item>,
  options: Form & Options,
): Promise<void> {
  const berth = await connect();
  const all = await kind.of(berth).list(await valuesIn(kind, options, berth));
  const names = kind.name === 'user' && !options.json && !options.quiet ? await namesIn(berth) : NO_NAMES;
  await printList(terminal, options, all, kind.heads, (one) => kind.row(one, names));
}

const NO_NAMES: Names = { role: new Map(), quota: new Map() };

async function namesIn({ roles, quotas }: Berth): Promise<Names> {
  // Who may not see them sees their ids.
  const [role, quota] = await Promise.all(
    [roles, quotas].map(async (kind) => {
      const all = await kind.list().catch(() => []);
      return new Map(all.map(({ id, name }) => [id, name]));
    }),
  );
  return { role: role ?? NO_NAMES.role, quota: quota ?? NO_NAMES.quota };
}

async function show<Item extends { id: number }>(
  { kind, terminal, connect }: Setting<Item>,
  given: string,
  { json }: Form,
): Promise<void> {
  const accounts = kind.of(await connect());
  const one = await accounts.get(await idNamed(accounts, given));
  if (json) return terminal.out(jsonOf(one));
  const rows = Object.entries(one).map(([name, value]) => [name, String(value)]);
  await terminal.out(table(['FIELD', 'VALUE'], rows, terminal.columns));
}

async function createOne<Item extends { id: number }>(
  { kind, terminal, connect }: Setting<Item>,
  options: Form & Options & PasswordOptions,
): Promise<void> {
  const berth = await connect();
  const accounts = kind.of(berth);
  const fields = await valuesIn(kind, options, berth);
  const passwords = await passwordsFor(options, terminal);
  const id = await accounts.create(fields);
  if (passwords.password !== undefined)
    try {
      await accounts.update(id, passwords);
    } catch (error) {
      // The same command can be tried again.
      await accounts.remove(id);
      throw error;
    }
  else if (kind.hasPassword) terminal.say(`It has no password yet: berth user update ${id} --password`);
  await terminal.out(options.json ? jsonOf({ [`${kind.name}_id`]: id }) : `${id}\n`);
}

async function updateOne<Item extends { id: number }>(
  { kind, terminal, connect }: Setting<Item>,
  given: string,
  options: Form & Options & PasswordOptions,
): Promise<void> {
  const berth = await connect();
  const accounts = kind.of(berth);
  const id = await idNamed(accounts, given);
  const changes = { ...(await valuesIn(kind, options, berth)), ...(await passwordsFor(options, terminal)) };
  if (Object.keys(changes).length === 0)
    throw new Error(`Nothing is to be changed: berth ${kind.name} update --help shows the options.`);
  await accounts.update(id, changes);
  await printChange(terminal, options, id, { changed: { [`${kind.name}_id`]: id }, text: '' });
  if ('current_password' in changes) terminal.say('Your sessions have ended. Log in again: berth login');
}
