/** `berth shop`: the applications of the site, each with parameters to fill in. */
import type { Command } from 'commander';
import { type Berth, BerthError, type ShopEntry } from '../../client/berth.ts';
import type { Shop } from '../../client/resources.ts';
import { mostLike } from '../../shared/settings/similar.ts';
import { repeated } from '../inputs/arguments.ts';
import { addSubmitOptions, type SubmitOptions, submit } from '../submission.ts';
import { type Form, jsonOf, printList } from '../terminal/list.ts';
import { table } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface RunOptions extends SubmitOptions {
  set?: string[];
  print?: boolean;
}

const NOT_FOUND = 404;

type Parameter = ShopEntry['parameters'][number];

export function addShopCommands(program: Command, terminal: Terminal, connect: () => Promise<Berth>): void {
  const shop = program.command('shop').description('The applications of the site, ready to run');
  shop
    .command('ls')
    .description('List the applications that you may see')
    .option('--json', 'as JSON')
    .option('-q, --quiet', 'ids only')
    .action((options: Form) => list(terminal, connect, options));
  shop
    .command('get <application>')
    .description('Show the parameters of an application')
    .option('--json', 'as JSON, with its text')
    .action((id: string, options: Form) => show(terminal, connect, id, options));
  addSubmitOptions(
    shop
      .command('run <application>')
      .description('Run an application of the shop, and print the id of its execution')
      .option('--set <parameter=value>', 'set a parameter, by its name or its key', repeated)
      .option('--print', 'print the description and submit nothing'),
  ).action((id: string, options: RunOptions) => start(terminal, connect, id, options));
}

async function list(terminal: Terminal, connect: () => Promise<Berth>, form: Form): Promise<void> {
  const entries = await (await connect()).shop.list();
  const rowOf = ({ id, name, category }: ShopEntry) => [id, name, category];
  await printList(terminal, form, entries, ['ID', 'NAME', 'CATEGORY'], rowOf);
}

async function show(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  id: string,
  { json }: Form,
): Promise<void> {
  const { shop } = await connect();
  const entry = await shop.get(id).catch(whichThereAre(shop, id));
  if (json) return terminal.out(jsonOf(entry));
  const rows = entry.parameters.map((one) => [
    one.key,
    one.readable_name,
    one.default,
    limitsOf(one),
    one.may_change ? '' : 'fixed for your role',
  ]);
  await terminal.out(table(['PARAMETER', 'MEANING', 'DEFAULT', 'LIMITS', ''], rows, terminal.columns));
}

/** Says of an application that the shop does not have which ones it has. */
const whichThereAre =
  (shop: Shop, id: string) =>
  async (error: unknown): Promise<never> => {
    if (!(error instanceof BerthError) || error.status !== NOT_FOUND) throw error;
    const ids = (await shop.list()).map((one) => one.id);
    const like = mostLike(id, ids);
    const meant = like === undefined ? '' : ` Did you mean ${like}?`;
    throw new Error(`${error.message} It has ${ids.join(', ') || 'none'}, and not ${id}.${meant}`);
  };

const limitsOf = ({ min, max }: Parameter): string =>
  min === null && max === null ? '' : `${min ?? ''} to ${max ?? ''}`.trim();

async function start(
  terminal: Terminal,
  connect: () => Promise<Berth>,
  id: string,
  options: RunOptions,
): Promise<void> {
  const berth = await connect();
  const { set = [] } = options;
  const unknown = whichThereAre(berth.shop, id);
  const { parameters } = set.length > 0 ? await berth.shop.get(id).catch(unknown) : { parameters: [] };
  const values = Object.fromEntries(set.map((assignment) => assigned(assignment, parameters)));
  const application = await berth.shop.fillIn(id, values).catch(unknown);
  if (options.print) return terminal.out(jsonOf(application, 2));
  await submit(terminal, berth, application.name, application, options);
}

/** The server knows better what a value may be, but only a key names a parameter for it. */
function assigned(assignment: string, parameters: readonly Parameter[]): [key: string, value: string] {
  const at = assignment.indexOf('=');
  if (at < 1) throw new Error(`--set ${assignment}: give a parameter and its value, as in workers=3.`);
  const [given, value] = [assignment.slice(0, at), assignment.slice(at + 1)];
  if (parameters.some(({ key }) => key === given)) return [given, value];
  const named = parameters.filter(({ name }) => name === given);
  const [one, another] = named;
  if (one && !another) return [one.key, value];
  const keys = (another ? named : parameters).map(({ key }) => key).join(', ');
  throw new Error(
    another
      ? `--set ${given}: several parameters have this name; give one of ${keys}.`
      : `--set ${given}: the application has no such parameter; it has ${keys || 'none'}.`,
  );
}
