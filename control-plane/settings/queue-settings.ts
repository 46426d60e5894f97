/** Settings of the bounds on what waits, what is placed and what is recorded. */
import * as z from 'zod';
import { MAX_INSTANCES } from '../../shared/application-schema.ts';
import { type Bounds, defaultBounds, MIB } from '../core/model/bounds.ts';
import { bound } from './bound.ts';

const MAX_UNPROVEN_IDS = 1_000_000_000;
const MAX_KEEP_DAYS = 36_500;

export const boundSettings = (bounds: Bounds) => ({
  BERTH_MAX_WAITING: bound(bounds.waiting, 'executions'),
  BERTH_MAX_WAITING_PER_USER: bound(bounds.waitingPerUser, 'executions'),
  BERTH_MAX_WAITING_MIB_PER_USER: bound(bounds.waitingBytesPerUser / MIB, 'MiB'),
  BERTH_MAX_PLACED_INSTANCES: bound(bounds.placedInstances, 'instances'),
  BERTH_MAX_ADOPTED_INSTANCES: bound(bounds.adoptedInstances, 'instances'),
  BERTH_MAX_INSTANCES_PER_EXECUTION: bound(bounds.instancesPerExecution, 'instances', MAX_INSTANCES),
  BERTH_MAX_TEXT_MIB_PER_EXECUTION: bound(bounds.textBytesPerExecution / MIB, 'MiB'),
});

/** Bounds with the same default on each host. */
export const recordSettings = {
  BERTH_MAX_IDEMPOTENCY_KEYS_PER_USER: bound(defaultBounds.keysPerUser, 'keys'),
  BERTH_KEEP_AUDIT: z.coerce
    .number('must be a number of days')
    .min(0, 'must be at least 0 days')
    .max(MAX_KEEP_DAYS, `must be at most ${MAX_KEEP_DAYS} days`)
    .default(defaultBounds.auditDays),
  BERTH_MAX_AUDIT: bound(defaultBounds.auditRows, 'rows', undefined, 1_000),
  BERTH_MAX_UNPROVEN_IDS: bound(defaultBounds.unprovenIds, 'ids', MAX_UNPROVEN_IDS, 0),
};

type Settings = {
  [Name in keyof ReturnType<typeof boundSettings> | keyof typeof recordSettings]: number;
};

export const boundsOf = (config: Settings): Bounds => ({
  waiting: config.BERTH_MAX_WAITING,
  waitingPerUser: config.BERTH_MAX_WAITING_PER_USER,
  waitingBytesPerUser: config.BERTH_MAX_WAITING_MIB_PER_USER * MIB,
  placedInstances: config.BERTH_MAX_PLACED_INSTANCES,
  adoptedInstances: config.BERTH_MAX_ADOPTED_INSTANCES,
  instancesPerExecution: config.BERTH_MAX_INSTANCES_PER_EXECUTION,
  textBytesPerExecution: config.BERTH_MAX_TEXT_MIB_PER_EXECUTION * MIB,
  unprovenIds: config.BERTH_MAX_UNPROVEN_IDS,
  keysPerUser: config.BERTH_MAX_IDEMPOTENCY_KEYS_PER_USER,
  auditRows: config.BERTH_MAX_AUDIT,
  auditDays: config.BERTH_KEEP_AUDIT,
});
