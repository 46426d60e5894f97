/**
 * The coordinator of a self-hosted control plane: active from the start, or behind a standby
 * (`BERTH_STANDBY`). Only assembles the parts.
 */
import { isServer, schedulerConfigOf } from './config.ts';
import type { Agents } from './coordinator/agents/agents.ts';
import { Coordinator } from './coordinator/coordinator.ts';
import type { CoordinatorApi } from './coordinator/coordinator-api.ts';
import type { Logger } from './coordinator/ports.ts';
import { idCode } from './coordinator/runtime/id-code.ts';
import { nodeClock } from './coordinator/runtime/node-clock.ts';
import { Standby } from './coordinator/standby.ts';
import type { PlacementSource } from './coordinator/streams/placements.ts';
import { containerExtrasOf } from './http/variants/choose.ts';
import { migrateDatabase } from './prepare.ts';
import type { NodeConfig } from './settings.ts';
import type { Db } from './store/db/db.ts';
import type { ClaimTerms } from './store/db/epoch.ts';

export interface NodeCoordinator {
  api: CoordinatorApi & PlacementSource;
  /** What the sockets of agents require. */
  agents: Pick<Agents, 'admit' | 'connect' | 'session'>;
  /** Throws StandbyError while this control plane waits. Undefined if it never does. */
  assertActive: (() => void) | undefined;
  /** Throws OperationError while agents must try another control plane. Undefined if they never must. */
  assertAdmitting: (() => void) | undefined;
  /** Call it once there is an administrator. */
  begin(): void;
  endEvents(): void;
  /** Stops all timers. */
  stop(): void;
}

/** `isUpgrade`: this program has just migrated the database. As a standby it then does not wait (C256). */
export function nodeCoordinator(
  config: NodeConfig,
  { db, log, isUpgrade }: { db: Db; log: Logger; isUpgrade: boolean },
): NodeCoordinator {
  const clocks: { stop(): void }[] = [];
  // A clock for each coordinator: one that was superseded must not stop the timer of the next.
  const coordinatorOf = (claim: ClaimTerms, retired?: () => void) => {
    const clock = nodeClock(() => coordinator.wake());
    clocks.push(clock);
    const coordinator = new Coordinator({ ...coordinatorSettings(config), db, log, clock, claim, retired });
    return coordinator;
  };
  const stop = () => {
    for (const clock of clocks) clock.stop();
  };
  // An embedded database has no other process that could watch.
  const isBeating = isServer(config.BERTH_DATABASE_URL);
  if (config.BERTH_STANDBY === 'off') {
    const coordinator = coordinatorOf({ isBeating });
    return {
      api: coordinator,
      agents: coordinator.agents,
      stop,
      assertActive: undefined,
      assertAdmitting: undefined,
      begin: () => coordinator.wake(),
      endEvents: () => coordinator.endEvents(),
    };
  }
  const standby = new Standby({
    db,
    log,
    clock: nodeClock(() => {}),
    monotonicMs: () => performance.now(),
    checkSchema: () => migrateDatabase(db, log).then(() => {}),
    newCoordinator: (seen, retired) =>
      coordinatorOf({ isBeating, yields: true, ...(seen && { seen }) }, retired),
  });
  return {
    api: standby.api,
    agents: standby.agents,
    stop,
    assertActive: () => standby.assertActive(),
    assertAdmitting: () => standby.assertAdmitting(),
    begin: () => standby.start(isUpgrade),
    endEvents: () => standby.endEvents(),
  };
}

/** For the windows of all channels together: a stalled reader costs its window. */
const WINDOW_BYTES = 128 * 2 ** 20;

const coordinatorSettings = (config: NodeConfig) => ({
  idCode,
  deploymentName: config.BERTH_DEPLOYMENT_NAME,
  publicUrl: config.BERTH_PUBLIC_URL,
  scheduling: schedulerConfigOf(config),
  unknownContainers: config.BERTH_UNKNOWN_CONTAINERS,
  isolation: config.BERTH_NETWORK_ISOLATION,
  appPaths: config.BERTH_APPS_PATHS,
  containerExtras: containerExtrasOf(config),
  keepEndedDays: config.BERTH_LIMITS.endedDays,
  windowBytes: WINDOW_BYTES,
  messageAllowance: { maxBytes: config.BERTH_LIMITS.hostMessageBytes },
});
