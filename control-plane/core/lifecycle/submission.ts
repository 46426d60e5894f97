/**
 * Submission: makes an execution with ids, service instances and requirements from a validated description.
 * Pure.
 */
import type { Application } from '../../../shared/application-schema.ts';
import { expandApplication } from '../../../shared/expand.ts';
import { OperationError } from '../model/errors.ts';
import type { Execution } from '../model/execution.ts';
import { utf8Bytes } from '../model/json-bytes.ts';
import { type Requirements, requirementOf, requirementsOf } from '../model/resources.ts';
import { restartOf, type Service } from '../model/service.ts';
import { gangDemandOf } from '../scheduling/resource-demand.ts';
import type { NextIds } from '../state/changes.ts';
import type { Cluster } from '../state/cluster.ts';

export interface Submission {
  userId: number;
  name: string;
  application: Application;
  /** The application as JSON text, as submitted. */
  description: string;
  /** Undefined: as the user's quota states. */
  timeLimitS?: number | undefined;
  /** Refused instead of queued if all that its user has, and this, exceed the quota (H171). */
  withinQuota?: boolean;
}

/** The user may have been deleted or disabled since the request arrived. */
export function assertEnabled({ users }: Cluster, userId: number): void {
  if (!users.get(userId)?.enabled)
    throw new OperationError('unauthenticated', 'The user has been deleted or disabled.');
}

/**
 * A new execution, queued at once, with the next ids of `ids` and without its services. Queued objects are
 * written out field by field, here and in the store: made by spreads they take a quarter more memory.
 */
export function newExecution(
  ids: NextIds,
  submission: Submission,
  nowMs: number,
  requirements?: Requirements,
): Execution {
  const { userId, name, application, description } = submission;
  const firstServiceId = ids.service;
  const serviceCount = instanceCountOf(application);
  ids.service += serviceCount;
  return {
    id: ids.execution++,
    name,
    userId,
    description: null,
    descriptionBytes: utf8Bytes(description),
    firstServiceId,
    serviceCount,
    hasServiceRows: false,
    demand: gangDemandOf(application, requirements),
    size: application.size,
    status: 'queued',
    ending: null,
    deleted: false,
    errorMessage: null,
    timeSubmitMs: nowMs,
    timePlaceMs: null,
    timeStartMs: null,
    timeStopMs: null,
    timeEndMs: null,
    attempts: 0,
    retryAtMs: null,
    timeLimitS: null,
    services: NONE,
  };
}

const instanceCountOf = ({ services }: Application): number =>
  services.reduce((sum, { total_count }) => sum + total_count, 0);

/** The services of an execution none of which was placed so far. */
export const newServices = (
  { id, firstServiceId }: Execution,
  application: Application,
  requirements?: Requirements,
): Service[] =>
  instancesOf(application, requirements).map((instance, at) => newService(firstServiceId + at, id, instance));

/**
 * The constant part of a service, as its description states it. The store matches instances with rows by
 * name.
 */
export type Instance = Pick<
  Service,
  'name' | 'group' | 'essential' | 'monitor' | 'startupOrder' | 'requirement' | 'isChecked' | 'restart'
>;

export function instancesOf(
  application: Application,
  requirements: Requirements = requirementsOf(application.services),
): Instance[] {
  return expandApplication(application).map(({ name, group, essential, definition }) => ({
    name,
    group,
    essential,
    monitor: definition.monitor,
    startupOrder: definition.startup_order,
    requirement: requirements.get(definition) ?? requirementOf(definition),
    isChecked: definition.health !== undefined,
    restart: restartOf(definition),
  }));
}

const NONE: readonly never[] = [];

const newService = (id: number, executionId: number, instance: Instance): Service => ({
  id,
  executionId,
  name: instance.name,
  group: instance.group,
  essential: instance.essential,
  monitor: instance.monitor,
  startupOrder: instance.startupOrder,
  requirement: instance.requirement,
  isChecked: instance.isChecked,
  restart: instance.restart,
  status: 'inactive',
  backendStatus: 'undefined',
  hostId: null,
  placed: false,
  generation: 0,
  containerId: null,
  ipAddress: null,
  ports: NONE,
  exit: null,
  failure: null,
  deathsMs: NONE,
  history: NONE,
  restartAtMs: null,
  errorMessage: null,
  preparing: '',
  logs: 'kept',
});
