/**
 * Use cases on services. Each one authorises before it reports or changes anything, except those that the
 * contract makes public.
 */

import { dnsNameOf } from '../../../shared/expand.ts';
import type { LogFormat, LogPart } from '../../../shared/streams/targets.ts';
import { type Actor, authoriseOwned, noSuchExecution } from '../../core/accounts/account.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { ServiceView } from '../../core/views/execution-views.ts';
import type { StartView } from '../../core/views/service-starts.ts';
import { findState, listActiveInstances, listStarts } from '../../store/executions/executions.ts';
import { logSubscriber } from '../access-review.ts';
import type { Context } from '../context.ts';
import { getServices, type ReadableService, readableService } from './reads.ts';

export async function getService(context: Context, actor: Actor, id: number): Promise<ServiceView> {
  const { service } = await readableService(context, actor, id);
  return service;
}

/** Adds the progress of the start, as far as its host has reported it. */
export async function describeService(context: Context, actor: Actor, id: number): Promise<ServiceView> {
  const service = await getService(context, actor, id);
  const [described = service] = await withProgress(context, [service]);
  return described;
}

/** All services of an execution in the order of its description, with the progress of their starts. */
export async function listExecutionServices(
  context: Context,
  actor: Actor,
  executionId: number,
): Promise<ServiceView[]> {
  return withProgress(context, await getServices(context, actor, executionId));
}

/** The last starts of an execution's services, the latest first: `limit` of them at most. */
export async function listExecutionStarts(
  { db }: Context,
  actor: Actor,
  executionId: number,
  limit: number,
): Promise<StartView[]> {
  const [state, starts] = await Promise.all([findState(db, executionId), listStarts(db, executionId, limit)]);
  authoriseOwned(actor, 'read-execution', state?.userId);
  return starts;
}

/** Leaves the progress out if the coordinator is not available. */
async function withProgress(
  { coordinator }: Context,
  services: readonly ServiceView[],
): Promise<ServiceView[]> {
  const starting = services.filter(({ status }) => status === 'starting').map(({ id }) => id);
  if (starting.length === 0) return [...services];
  const texts = await coordinator.progress(starting).catch((error: unknown) => {
    if (error instanceof OperationError && error.code === 'unavailable') return [];
    throw error;
  });
  const progress = new Map(starting.map((id, at) => [id, texts[at] ?? '']));
  return services.map((service) => {
    const text = progress.get(service.id) ?? '';
    return text === '' ? service : { ...service, progress: text };
  });
}

/**
 * Combined output of a service from its first byte. The stream ends when the service has ended, or, if `part`
 * does not follow, after what is stored.
 */
export async function openServiceLog(
  context: Context,
  actor: Actor,
  id: number,
  format: LogFormat,
  part?: LogPart,
): Promise<ReadableStream<Uint8Array>> {
  const { account, service } = await readableService(context, actor, id);
  return context.openLog(logSubscriber(account, service.userId), id, format, undefined, part);
}

/**
 * The whole output of a service that the account may read. If the account loses access, the stream ends with
 * `lastLine`; without that it is aborted then.
 */
export const openReadableLog = (
  { openLog }: Context,
  { account, service }: ReadableService,
  format: LogFormat,
  lastLine?: string,
): Promise<ReadableStream<Uint8Array>> =>
  openLog({ ...logSubscriber(account, service.userId), lastLine }, service.id, format);

/**
 * DNS names of the active instances of a service group; undefined: of all groups. Public (api: discovery).
 */
export async function discover(
  context: Context,
  executionId: number,
  group: string | undefined,
): Promise<string[]> {
  const instances = await listActiveInstances(context.db, executionId, group);
  if (!instances) throw noSuchExecution();
  return instances.map((name) => dnsNameOf(name, executionId, context.deploymentName));
}
