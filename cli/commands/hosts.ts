/** `berth host`: the hosts of the cluster, for administrators. */
import type { Command } from 'commander';
import { updateAgent } from '../../client/agent-updates.ts';
import type { Berth } from '../../client/berth.ts';
import type { Hosts } from '../../client/resources.ts';
import { sizeText } from '../../shared/sizes.ts';
import { forEachNamed, idNamed } from '../inputs/named.ts';
import { addForm, type Form, jsonOf, printList } from '../terminal/list.ts';
import { LiveLine } from '../terminal/live-line.ts';
import { details, onOneLine, table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { ageOf, timeOf } from '../terminal/time.ts';

export function addHostCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const host = program.command('host').alias('hosts').description('The hosts of the cluster');
  host
    .command('ls')
    .description('List the hosts')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Form) => list(terminal, connect, options));
  host
    .command('get <host>')
    .description('Show a host, by id or name, with its services')
    .option('--json', 'as JSON')
    .action((given: string, options: Form) => show(terminal, connect, given, options));
  addChangeCommands(host, terminal, connect);
  host
    .command('token')
    .description('Print the command that makes a machine a host, or the token for its agent')
    .option('--name <name>', 'for a host of this name only')
    .option('--labels <labels>', 'labels of the new host, with commas between them')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'the token only')
    .action((options: Form & TokenOptions) => createToken(terminal, connect, options));
}

function addChangeCommands(host: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const drain = host
    .command('drain <host...>')
    .description('Take no new services; elastic services leave, essential services stay to their end')
    .option('--force', 'essential services leave too: their executions start again elsewhere')
    .action(async (given: string[], { force, ...form }: Form & { force?: boolean }) => {
      const { hosts } = await connect();
      await forEachNamed(terminal, hosts, given, form, (id) =>
        hosts.drain(id, { ...(force !== undefined && { force }) }),
      );
    });
  const resume = host
    .command('resume <host...>')
    .description('Take new services again')
    .action(async (given: string[], form: Form) => {
      const { hosts } = await connect();
      await forEachNamed(terminal, hosts, given, form, (id) => hosts.resume(id));
    });
  const rm = host
    .command('rm <host...>')
    .description('Remove hosts that are empty or lost')
    .option('--force', 'also a host that is disconnected and not lost yet, if its containers run no more')
    .action(async (given: string[], { force, ...form }: Form & { force?: boolean }) => {
      const { hosts } = await connect();
      const options = { ...(force !== undefined && { force }) };
      await forEachNamed(terminal, hosts, given, form, async (id) => {
        const { message, requeued, left_behind } = await hosts.remove(id, options);
        if (left_behind > 0) terminal.say(onOneLine(message));
        if (requeued.length > 0)
          terminal.say(`These executions are in the queue again: ${requeued.join(' ')}`);
      });
    });
  const updating = host
    .command('update [host...]')
    .description('Update the agents of hosts, one after the other; containers run on')
    .option('--all', 'of all hosts')
    .action((given: string[], options: UpdateOptions) => update(terminal, connect, given, options));
  for (const command of [drain, resume, rm, updating]) addForm(command);
}

interface UpdateOptions extends Form {
  all?: boolean;
}

interface TokenOptions {
  name?: string;
  labels?: string;
}

async function list(terminal: Terminal, connect: () => Promise<Berth>, form: Form): Promise<void> {
  const hosts = await (await connect()).hosts.list();
  const heads = ['ID', 'NAME', 'STATE', 'CONTAINERS', 'MEMORY', 'CORES', 'LABELS'];
  await printList(terminal, form, hosts, heads, (one) => [
    String(one.id),
    one.name,
    one.state,
    String(one.containers),
    `${sizeText(one.memory_reserved)} of ${sizeText(one.memory_total)}`,
    `${one.cores_reserved} of ${one.cores_total}`,
    one.labels.join(','),
  ]);
}

async function show(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: string,
  { json }: Form,
): Promise<void> {
  const { hosts } = await connect();
  const host = await hosts.get(await idNamed(hosts, given));
  if (json) return terminal.out(jsonOf(host));
  const usedMemory = host.memory_used === null ? '' : `, ${sizeText(host.memory_used)} used`;
  const limits = host.memory_limits === 0 ? '' : `, limits of ${sizeText(host.memory_limits)} in all`;
  const usedCores = host.cores_used === null ? '' : `, ${host.cores_used.toFixed(1)} used`;
  const features: [name: string, text: string][] = [
    ['Host', `${host.id}  ${host.name}`],
    ['State', host.state],
    ['Address', host.address],
    [
      'Memory',
      `${sizeText(host.memory_reserved)} of ${sizeText(host.memory_total)} reserved${limits}${usedMemory}`,
    ],
    ['Cores', `${host.cores_reserved} of ${host.cores_total} reserved${usedCores}`],
    ['Labels', host.labels.join(', ')],
    ['Versions', `agent ${host.agent_version}, engine ${host.engine_version}`],
    ['Contact', `${timeOf(host.last_contact)}, ${ageOf(host.last_contact, Date.now())}`],
    ...host.conditions.map(({ kind, text }): [string, string] => ['Condition', `${kind}: ${text}`]),
  ];
  if (host.pending !== null) features.push(['Pending', 'Its agent offers more than was agreed (--json)']);
  await terminal.out(details(features));
  const rows = host.services.map((one) => [
    String(one.id),
    one.name,
    String(one.execution_id),
    one.essential ? 'essential' : 'elastic',
    one.status,
    one.backend_status,
  ]);
  const heads = ['SERVICE', 'NAME', 'EXECUTION', 'KIND', 'STATUS', 'CONTAINER'];
  await terminal.out(`\n${table(heads, rows, terminal.columns)}`);
}

async function update(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  given: readonly string[],
  { all = false, json, quiet }: UpdateOptions,
): Promise<void> {
  if (all === given.length > 0) throw new Error('Name the hosts, or use --all.');
  const { hosts } = await connect();
  const names = all ? await connectedHosts(terminal, hosts) : given;
  const line = new LiveLine(terminal);
  const done: { id: number; version: string; is_new: boolean }[] = [];
  try {
    for (const [n, name] of names.entries()) {
      line.show(`Updating ${name} (${n + 1} of ${names.length})`);
      const id = await idNamed(hosts, name);
      const { version, isNew } = await updateAgent(hosts, id).catch((error: Error) => {
        line.clear();
        const rest = names.length - n - 1;
        const others = rest > 0 ? ` The other ${rest} were left as they are.` : '';
        throw new Error(`${name}: ${error.message}${others}`);
      });
      line.clear();
      done.push({ id, version, is_new: isNew });
      const text = quiet ? String(id) : `${name}  ${version}${isNew ? '' : ' (as before)'}`;
      if (!json) await terminal.out(`${onOneLine(text)}\n`);
    }
  } finally {
    if (json) await terminal.out(jsonOf(done));
  }
}

/** Says which hosts are left out. */
async function connectedHosts(terminal: Terminal, hosts: Hosts): Promise<string[]> {
  const listed = await hosts.list();
  const left = listed.filter(({ connected }) => !connected).map(({ name }) => name);
  if (left.length > 0) terminal.say(onOneLine(`Not connected, and left as they are: ${left.join(' ')}`));
  return listed.filter(({ connected }) => connected).map(({ name }) => name);
}

async function createToken(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  { name, labels, json, quiet }: Form & TokenOptions,
): Promise<void> {
  const fields = { ...(name !== undefined && { name }), ...(labels && { labels: labels.split(',') }) };
  const answer = await (await connect()).hosts.createToken(fields);
  if (json) return terminal.out(jsonOf(answer));
  if (quiet) return terminal.out(`${answer.token}\n`);
  const until = `It is for one host, and valid until ${timeOf(answer.expires_at)}.`;
  terminal.say(
    answer.install === undefined
      ? `Start the agent of the new host with this as its BERTH_JOIN_TOKEN. ${until}`
      : `Run this as root on the new host. ${until}`,
  );
  if (answer.warning !== undefined) terminal.say(onOneLine(answer.warning));
  await terminal.out(`${answer.install ?? answer.token}\n`);
}
