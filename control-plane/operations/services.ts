/** Owns the use cases on services. Each authorises on its first line, but for those the contract makes public. */
import { dnsNameOf } from '../../shared/expand.ts';
import type { LogFormat } from '../../shared/protocol/down.ts';
import { type Actor, authorise, noSuchExecution, noSuchService } from '../core/account.ts';
import { OperationError } from '../core/errors.ts';
import type { ServiceView } from '../core/views.ts';
import { findService, listActiveInstances } from '../store/executions.ts';
import type { Context } from './context.ts';

export async function getService(context: Context, actor: Actor, id: number): Promise<ServiceView> {
  const account = authorise(actor, { kind: 'list-executions' });
  const service = await findService(context.db, id);
  try {
    authorise(actor, { kind: 'read-execution', ownerId: service?.userId ?? account.user.id });
  } catch (error) {
    throw error instanceof OperationError && error.code === 'not-found' ? noSuchService() : error;
  }
  if (!service) throw noSuchService();
  return service;
}

/** With how far its start has come, where its host has told; without a coordinator nobody knows. */
export async function describeService(context: Context, actor: Actor, id: number): Promise<ServiceView> {
  const service = await getService(context, actor, id);
  if (service.status !== 'starting') return service;
  const progress = await context.coordination.progress(id).catch((error: unknown) => {
    if (error instanceof OperationError && error.code === 'unavailable') return '';
    throw error;
  });
  return progress === '' ? service : { ...service, progress };
}

/** Combined output of a service from its first byte; the stream ends when the service does. */
export async function openServiceLog(
  context: Context,
  actor: Actor,
  id: number,
  format: LogFormat,
): Promise<ReadableStream<Uint8Array>> {
  await getService(context, actor, id);
  return context.coordination.openLog(id, format);
}

/** DNS names of the active instances of a group. Public (api: discovery). */
export async function discover(context: Context, executionId: number, group: string): Promise<string[]> {
  const instances = await listActiveInstances(context.db, executionId, group);
  if (!instances) throw noSuchExecution();
  return instances.map((name) => dnsNameOf(name, executionId, context.deploymentName));
}
