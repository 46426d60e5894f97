/** Use cases of the shop. Each one authorises on its first line. */
import type { Application } from '../../../shared/application-schema.ts';
import { type Account, type Actor, authorise, type Role } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { fillIn, isShownTo, readEntryId, type ShopEntry, type ShopProblem } from '../../core/shop/shop.ts';
import type { ParameterProblem } from '../../core/shop/shop-parameters.ts';
import type { Explanation } from '../../core/views/explanation.ts';
import type { Context } from '../context.ts';
import { explainApplication, type OverQuota, submitExecution } from '../executions/executions.ts';
import { draftInputOf, nameProblem, submissionOf } from '../executions/submission-input.ts';
import { pictureType, readFolder, readShop } from './shop-entries.ts';
import type { ShopFiles } from './shop-files.ts';

export interface ShopContext extends Context {
  shopFiles: ShopFiles;
}

export interface ShopView {
  /** The entries that the actor may see, by category and name. */
  entries: ShopEntry[];
  /** What is wrong with the shop; empty for users who cannot correct it. */
  problems: ShopProblem[];
  role: Role;
}

export interface ShopOrder {
  /** The name of the execution. */
  name: string;
  /** By the keys of the parameters; an absent key means the default. */
  values: Readonly<Record<string, string>>;
}

export async function listShop({ shopFiles }: ShopContext, actor: Actor): Promise<ShopView> {
  const { role } = authorise(actor, { kind: 'submit-execution' });
  const { entries, problems } = await readShop(shopFiles);
  return {
    entries: entries.filter((entry) => isShownTo(entry, role)).sort(byCategory),
    problems: role.canChangeConfig ? problems : [],
    role,
  };
}

/** An entry that the role may not see is `not-found`. */
export async function getShopEntry(
  context: ShopContext,
  actor: Actor,
  id: string,
): Promise<{ entry: ShopEntry; role: Role }> {
  const account = authorise(actor, { kind: 'submit-execution' });
  return { entry: await findEntry(context, account, id), role: account.role };
}

/** The description with these values, which the caller may submit. Nothing is queued. */
export async function fillInFromShop(
  context: ShopContext,
  actor: Actor,
  id: string,
  readValues: () => Promise<ShopOrder['values']>,
): Promise<{ application: Application } | RefusedOrder> {
  const account = authorise(actor, { kind: 'submit-execution' });
  return fillIn(await findEntry(context, account, id), account.role, await readValues());
}

/** A picture of the entry's folder; without a name, its logo. */
export async function readPicture(
  context: ShopContext,
  actor: Actor,
  id: string,
  name?: string,
): Promise<{ type: string; content: Uint8Array<ArrayBuffer> }> {
  const account = authorise(actor, { kind: 'submit-execution' });
  const entry = await findEntry(context, account, id);
  const wanted = name ?? entry.logo;
  const type = wanted === null ? undefined : pictureType(wanted);
  const file = wanted !== null && type ? await context.shopFiles.read(entry.folder, wanted) : undefined;
  if (!type || !file || 'problem' in file)
    throw new OperationError('not-found', 'The application has no such picture.');
  return { type, content: file.content };
}

/** An order whose values cannot be filled in. Nothing has been started. */
export interface RefusedOrder {
  problems: readonly ParameterProblem[];
}

/** Resolves to the id of the queued execution. */
export async function startFromShop(
  context: ShopContext,
  actor: Actor,
  id: string,
  order: ShopOrder,
  overQuota: OverQuota,
): Promise<{ executionId: number } | RefusedOrder> {
  const account = authorise(actor, { kind: 'submit-execution' });
  const filled = await fillInOrder(context, account, id, order);
  if ('problems' in filled) return filled;
  const { id: executionId } = await submitExecution(context, actor, () => submissionOf(filled), overQuota);
  return { executionId };
}

/** Explains what would happen if the order were started now. Nothing is queued. */
export async function explainFromShop(
  context: ShopContext,
  actor: Actor,
  id: string,
  order: ShopOrder,
): Promise<{ explanation: Explanation } | RefusedOrder> {
  const account = authorise(actor, { kind: 'submit-execution' });
  const filled = await fillInOrder(context, account, id, order);
  if ('problems' in filled) return filled;
  return { explanation: await explainApplication(context, actor, () => draftInputOf(filled)) };
}

/** Makes the body of a submission. */
async function fillInOrder(
  context: ShopContext,
  account: Account,
  id: string,
  { name, values }: ShopOrder,
): Promise<{ name: string; application: Application } | RefusedOrder> {
  const entry = await findEntry(context, account, id);
  const filled = fillIn(entry, account.role, values);
  const problems = [...nameProblems(name), ...('problems' in filled ? filled.problems : [])];
  if ('problems' in filled || problems.length > 0) return { problems };
  return { name, application: filled.application };
}

async function findEntry({ shopFiles }: ShopContext, { role }: Account, id: string): Promise<ShopEntry> {
  const folder = readEntryId(id)?.folder;
  const entries = folder === undefined ? [] : (await readFolder(shopFiles, folder)).entries;
  const entry = entries.find((one) => one.id === id);
  if (!entry || !isShownTo(entry, role))
    throw new OperationError('not-found', 'The shop has no such application.');
  return entry;
}

/** Checks the name of the execution, which is a field beside the parameters. */
function nameProblems(name: string): ParameterProblem[] {
  if (name === '') return [{ parameter: 'name', message: 'must not be empty' }];
  const message = nameProblem(name);
  return message === undefined ? [] : [{ parameter: 'name', message }];
}

function byCategory(one: ShopEntry, other: ShopEntry): number {
  const key = ({ category, name, id }: ShopEntry) => [category.toLowerCase(), name.toLowerCase(), id];
  const [a, b] = [key(one), key(other)];
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : (a[at] ?? '') < (b[at] ?? '') ? -1 : 1;
}
