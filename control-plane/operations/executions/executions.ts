/** Owns the use cases on executions. Each authorises on its first line. */
import {
  type Account,
  type Action,
  type Actor,
  authorise,
  type KnownActor,
  noSuchExecution,
  type User,
} from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import { type ExecutionStatus, isEnded } from '../../core/model/execution.ts';
import { type ExecutionFilter, isOwner } from '../../core/views/execution-filter.ts';
import { type ExecutionLine, type ExecutionView, endpointsOf } from '../../core/views/execution-views.ts';
import { type Explanation, explainEnd } from '../../core/views/explanation.ts';
import { findQuota } from '../../store/accounts/quotas.ts';
import { countExecutions, listExecutionLines } from '../../store/executions/execution-lines.ts';
import {
  countUnended,
  findExecution,
  findOwner,
  listServices,
  listExecutions as readExecutions,
} from '../../store/executions/executions.ts';
import type { Context } from '../context.ts';
import { parseDraft, parseSubmission } from './submission-input.ts';

/** What becomes of a submission beyond the user's quota: it waits until there is room in the quota, or is a `conflict`. */
export type OverQuota = 'queue' | 'refuse';

/** Queues an application; resolves to the id of its execution once it can't be lost any more. */
export async function submitExecution(
  context: Context,
  actor: Actor,
  body: unknown,
  overQuota: OverQuota,
): Promise<number> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  const { name, application, description } = parseSubmission(body);
  if (overQuota === 'refuse') await checkConcurrency(context, user);
  return context.coordinator.submit({ userId: user.id, name, application, description });
}

/** What would become of an application, were it submitted now. Nothing is queued. */
export async function explainApplication(
  context: Context,
  actor: Actor,
  body: unknown,
): Promise<Explanation> {
  const { user } = authorise(actor, { kind: 'submit-execution' });
  const { name, application, description } = parseDraft(body);
  return context.coordinator.explainSubmission({ userId: user.id, name, application, description });
}

/** Why an execution is where it is; of one that has ended, the reason of its end. */
export async function explainExecution(context: Context, actor: Actor, id: number): Promise<Explanation> {
  authoriseOwned(actor, 'read-execution', await findOwner(context.db, id));
  const explanation = await context.coordinator.explain(id);
  if (explanation) return explanation;
  const ended = await findExecution(context.db, id);
  if (!ended) throw noSuchExecution();
  if (!isEnded(ended)) throw new OperationError('unavailable', 'The execution is changing; try again.');
  return explainEnd(ended);
}

export async function getExecution(context: Context, actor: Actor, id: number): Promise<ExecutionView> {
  const execution = await findExecution(context.db, id);
  authoriseOwned(actor, 'read-execution', execution?.userId);
  if (!execution) throw noSuchExecution();
  return execution;
}

/** Executions of the actor, or of all users for who operates others', that pass the filter, oldest first, in pages. */
export function listExecutions(
  context: Context,
  actor: Actor,
  filter: ExecutionFilter = {},
): AsyncGenerator<ExecutionView[]> {
  return readExecutions(context.db, within(authorise(actor, { kind: 'list-executions' }), filter));
}

/** One page of the list as people read it, newest first, and how many there are of each status whatever status is asked for. */
export interface ExecutionPage {
  lines: ExecutionLine[];
  /** Whether older ones follow. */
  hasMore: boolean;
  counts: ReadonlyMap<ExecutionStatus, number>;
}

/** As `listExecutions`, without descriptions; at most `size` of them. */
export async function pageExecutions(
  { db }: Context,
  actor: Actor,
  filter: ExecutionFilter,
  size: number,
): Promise<ExecutionPage> {
  const visible = within(authorise(actor, { kind: 'list-executions' }), filter);
  const { status: _, olderThan: __, ...all } = visible;
  const [lines, counts] = await Promise.all([
    listExecutionLines(db, { ...visible, limit: size + 1 }),
    countExecutions(db, all),
  ]);
  return { lines: lines.slice(0, size), hasMore: lines.length > size, counts };
}

/** The filter, for what the account may see; throws `forbidden` where it asks for others'. */
function within({ user, role }: Account, filter: ExecutionFilter): ExecutionFilter {
  if (role.canOperateOthers) return filter;
  if (filter.owner && !isOwner(filter.owner, user)) {
    throw new OperationError(
      'forbidden',
      `The role ${role.name} does not allow listing executions of others.`,
    );
  }
  return { ...filter, owner: { id: user.id } };
}

export async function terminateExecution(context: Context, actor: Actor, id: number): Promise<void> {
  authoriseOwned(actor, 'terminate-execution', await findOwner(context.db, id));
  await context.coordinator.terminate(id);
}

export async function deleteExecution(context: Context, actor: Actor, id: number): Promise<void> {
  authoriseOwned(actor, 'delete-execution', await findOwner(context.db, id));
  await context.coordinator.remove(id);
}

/** [name, URL] of what the execution exposes now. */
export async function listEndpoints(context: Context, actor: Actor, id: number): Promise<[string, string][]> {
  authoriseOwned(actor, 'read-execution', await findOwner(context.db, id));
  return endpointsOf(await listServices(context.db, id));
}

type OwnedAction = Extract<Action, { ownerId: number }>['kind'];

/** Authorises on an object of `ownerId`, which is undefined where the object does not exist; the role counts first. */
export function authoriseOwned(
  actor: Actor,
  kind: OwnedAction,
  ownerId: number | undefined,
): { account: KnownActor; ownerId: number } {
  const account = authorise(actor, { kind: 'list-executions' });
  authorise(actor, { kind, ownerId: ownerId ?? account.user.id });
  if (ownerId === undefined) throw noSuchExecution();
  return { account, ownerId };
}

/** Submissions of the same moment may all pass: what runs is the queue's to limit. */
async function checkConcurrency({ db }: Context, { id, quotaId }: User): Promise<void> {
  const most = (await findQuota(db, quotaId))?.concurrentExecutions ?? 0;
  if (most === 0 || (await countUnended(db, id)) < most) return;
  throw new OperationError(
    'conflict',
    `You cannot run more than ${most} executions at a time, quota exceeded.`,
  );
}
