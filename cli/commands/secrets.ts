/**
 * `berth secret` and `berth file`: values for environments and files of containers, and `berth registry`:
 * credentials for pulls. Never takes a secret as an argument.
 */
import type { Command } from 'commander';
import type { Berth, RegistryCredentials, Secret } from '../../client/berth.ts';
import type { Secrets } from '../../client/resources.ts';
import { forEachNamed } from '../inputs/named.ts';
import { addForm, type Form, jsonOf, printChange, printList } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { ageOf } from '../terminal/time.ts';

interface RegistryOptions extends Form {
  username?: string;
  all?: boolean;
}

interface SetOptions extends Form {
  all?: boolean;
}

export function addSecretCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const secret = program
    .command('secret')
    .alias('secrets')
    .description('Secrets, which descriptions use in environments as {secret#NAME}');
  addCommands(secret, terminal, 'secret', async () => (await connect()).secrets);
  secret
    .command('encrypt')
    .description('Encrypt all values with the first key of BERTH_SECRET_KEYS, as an administrator')
    .option('--json', 'how many, as JSON')
    .action((form: Form) => encrypt(terminal, connect, form));
  const file = program
    .command('file')
    .alias('files')
    .description('Files, which descriptions mount into containers');
  addCommands(file, terminal, 'file', async () => (await connect()).files);
}

export function addRegistryCommands(
  program: Command,
  terminal: Terminal,
  connect: () => Promise<Berth>,
): void {
  const registries = async () => (await connect()).registries;
  const command = program
    .command('registry')
    .alias('registries')
    .description('Credentials of image registries, which your pulls use');
  const set = command
    .command('set <registry>')
    .description('Set the credentials for a registry; the password is read from standard input')
    .option('-u, --username <name>', 'user name at the registry')
    .option('--all', 'for all users, as an administrator')
    .action(async (registry: string, options: RegistryOptions) => {
      const { all: forAll = false, username = await usernameFrom(terminal), ...form } = options;
      const password = await wordFrom(terminal, 'Password or token: ');
      const id = await (await registries()).set(registry, { username, password, forAll });
      await printChange(terminal, form, id, { changed: { registry_id: id }, text: `${id}\n` });
    });
  command
    .command('ls')
    .description('List the registries that you and all users have credentials for')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action(async (form: Form) => {
      const all = await (await registries()).list();
      await printList(terminal, form, all, ['ID', 'REGISTRY', 'FOR', 'SET'], (one: RegistryCredentials) => [
        String(one.id),
        one.registry,
        one.for_all ? 'all' : 'you',
        ageOf(one.set_at, Date.now()),
      ]);
    });
  const rm = command
    .command('rm <registry...>')
    .description('Remove credentials, by registry or id')
    .action(async (given: string[], form: Form) => {
      const all = await registries();
      await forEachNamed(terminal, all, given, form, (id) => all.remove(id));
    });
  for (const one of [set, rm]) addForm(one);
}

async function usernameFrom(terminal: Terminal): Promise<string> {
  if (!terminal.isInteractive) throw new Error('Name the user at the registry: --username NAME.');
  return terminal.ask('User name: ');
}

function addCommands(
  command: Command,
  terminal: Terminal,
  kind: 'secret' | 'file',
  connect: () => Promise<Secrets>,
): void {
  const set = command
    .command('set <name>')
    .description(`Set a ${kind}, whose value is read from standard input and is never shown again`)
    .option('--all', 'for all users, as an administrator')
    .action(async (name: string, { all = false, ...form }: SetOptions) => {
      const value = await valueFor(terminal, kind);
      const secrets = await connect();
      const id = await secrets.set(name, value, { forAll: all });
      await printChange(terminal, form, id, { changed: { [`${kind}_id`]: id }, text: `${id}\n` });
    });
  command
    .command('ls')
    .description(`List your ${kind}s and those of all users, without values`)
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action(async (form: Form) => {
      const all = await (await connect()).list();
      await printList(terminal, form, all, ['ID', 'NAME', 'FOR', 'BYTES', 'SET'], (one: Secret) => [
        String(one.id),
        one.name,
        one.for_all ? 'all' : 'you',
        String(one.size),
        ageOf(one.set_at, Date.now()),
      ]);
    });
  const rm = command
    .command(`rm <${kind}...>`)
    .description(`Remove ${kind}s, by id or name`)
    .action(async (given: string[], form: Form) => {
      const secrets = await connect();
      await forEachNamed(terminal, secrets, given, form, (id) => secrets.remove(id));
    });
  for (const one of [set, rm]) addForm(one);
}

/** A line of text ends without its line break; a file has every byte. */
async function valueFor(terminal: Terminal, kind: 'secret' | 'file'): Promise<string> {
  if (kind === 'file') return Buffer.from(await terminal.inputBytes()).toString('base64');
  return wordFrom(terminal, 'Value: ');
}

/** Asked for unseen, or else read. */
async function wordFrom(terminal: Terminal, question: string): Promise<string> {
  if (terminal.isInteractive) return terminal.ask(question, true);
  return (await terminal.input()).replace(/\r?\n$/, '');
}

async function encrypt(terminal: Terminal, connect: () => Promise<Berth>, { json }: Form): Promise<void> {
  const { secrets } = await connect();
  let encrypted = 0;
  for (;;) {
    const round = await secrets.encrypt();
    encrypted += round.encrypted;
    if (round.left > 0 && round.encrypted > 0) continue;
    const { unreadable } = round;
    await terminal.out(json ? jsonOf({ encrypted, unreadable }) : `${encrypted}\n`);
    terminal.say(
      unreadable > 0
        ? `The keys of ${unreadable} values are not in BERTH_SECRET_KEYS: add them, or set these values again.`
        : 'All values are encrypted with the first key: other keys can be removed from BERTH_SECRET_KEYS.',
    );
    return;
  }
}
