/** Serves a cluster with one agent: its engine, its connection and its periodic checks. */
import { resolve } from 'node:path';
import { type AgentParts, type Assembly, assemble } from './assembly.ts';
import type { Config } from './config.ts';
import { Addresses } from './connection/addresses.ts';
import { RefusedError } from './connection/refused-error.ts';
import { stayConnected } from './connection/socket.ts';
import type { Engine, EngineFacts } from './engine/engine.ts';
import type { Conditions } from './host/conditions.ts';
import { engineFolder, watchDisk } from './host/disk.ts';
import { startDiskGuard } from './host/disk-guard.ts';
import { KEPT_OUTPUT_BYTES } from './host/disk-offenders.ts';
import { watchFirewall } from './host/firewall.ts';
import { startUsageRounds } from './host/usage-meter.ts';
import { watchVolumeRoots } from './host/volume-roots.ts';
import { type Logger, messageOf } from './logger.ts';
import { decommission } from './services/decommission.ts';
import { startHousekeeping } from './services/housekeeping.ts';
import { LEASE_CHECK_MS } from './services/lease.ts';
import { endForDisk, startOutputLimit } from './services/output-limit.ts';
import { sleep } from './sleep.ts';
import { withResolvers } from './with-resolvers.ts';

const ENGINE_RETRY_MS = 1000;
const PING_MS = 10_000;
const DISK_CHECK_MS = 10_000;
const OUTPUT_LIMIT_MS = 2_000;
const VOLUME_ROOT_CHECK_MS = 60_000;
/** The time of the points of a usage series at first. */
const USAGE_MS = 30_000;
const LOG_EXPIRY_MS = 3_600_000;
const NETWORK_REMOVAL_MS = 15_000;
const IMAGE_REMOVAL_MS = 60_000;
const FIREWALL_MS = 60_000;

/**
 * Runs a complete agent until `stopSignal` aborts. Throws RefusedError if the control plane permits no retry.
 * If the reason is that the host was removed, all its containers are gone by then.
 */
export async function serveAgent(config: Config, parts: AgentParts): Promise<void> {
  const { engine, log, stopSignal } = parts;
  const facts = await waitForFacts(engine, log, stopSignal);
  if (!facts) return;
  await parts.identity.keepEngine?.(facts.id);
  const assembly = assemble(config, facts, parts);
  const { agent, watch, output, lease, conditions, meter } = assembly;
  stopSignal.addEventListener('abort', () => watch.close(), { once: true });
  // The signal may have aborted during `waitForFacts`; no further abort event follows.
  if (stopSignal.aborted) watch.close();
  const cleanups = [
    await startDiskWatch(config, facts, parts, assembly),
    await startVolumeRootWatch(config, conditions),
    await startFirewall(parts, conditions),
  ];
  try {
    const seen = withResolvers<void>();
    const watching = watch.run(() => {
      conditions.set('no-engine', undefined);
      seen.resolve();
    });
    await Promise.race([seen.promise, watching]);
    cleanups.push(scheduleHousekeeping(config, parts, assembly));
    cleanups.push(startOutputLimit(output, OUTPUT_LIMIT_MS));
    cleanups.push(startUsageRounds(meter, USAGE_MS));
    cleanups.push(await guardDisk(config, facts, parts, assembly));
    // The lease may have expired while no agent ran. The agent must then stop its containers before anything
    // else.
    lease.check();
    const leaseCheck = setInterval(() => lease.check(), LEASE_CHECK_MS);
    cleanups.push(() => clearInterval(leaseCheck));
    await connect(config, facts, parts, assembly).catch(async (error: unknown) => {
      if (!(error instanceof RefusedError && error.revoked)) throw error;
      // If the agent is stopped during the decommission, the next agent process continues it, because the key
      // is still there.
      if (await decommission(agent, log, stopSignal)) throw error;
    });
    await watching;
  } finally {
    for (const cleanUp of cleanups) cleanUp();
    watch.close();
    agent.close();
    await output.close();
    await engine
      .removeUnused(0)
      .catch((error: unknown) => log('network.removal-failed', { reason: messageOf(error) }));
    await parts.firewall?.removeUnused();
    log('agent.stopped');
  }
}

function startDiskWatch(
  config: Config,
  { dataDir }: EngineFacts,
  { probeDisk: probe }: AgentParts,
  { conditions, images }: Assembly,
): Promise<() => void> {
  return watchDisk({
    folders: [...(dataDir === undefined ? [] : [dataDir]), resolve(config.dataDir)],
    minBytes: config.minDiskBytes,
    probe,
    found: (low) => {
      conditions.set('low-disk', low);
      if (low !== undefined) void images.round();
    },
    everyMs: DISK_CHECK_MS,
  });
}

/** Guards nothing if the engine is on another machine. */
async function guardDisk(
  { criticalDiskBytes: minBytes, dataDir }: Config,
  facts: EngineFacts,
  { engine, probeDisk: probe, log }: AgentParts,
  { agent, output, images }: Assembly,
): Promise<() => void> {
  if (facts.dataDir === undefined) return () => {};
  const folder = await engineFolder(facts.dataDir, dataDir, probe);
  return startDiskGuard({
    folder,
    minBytes,
    probe,
    engine,
    running: () => agent.running(),
    isThere: (id) => agent.hasContainer(id),
    removeImage: () => images.removeForDisk(),
    end: (container, reason) => endForDisk({ agent, engine, output }, container, reason, KEPT_OUTPUT_BYTES),
    log,
    nowMs: () => performance.now(),
  });
}

function startVolumeRootWatch(
  { volumeRoots, workspaceRoot }: Config,
  conditions: Conditions,
): Promise<() => void> {
  return watchVolumeRoots({
    roots: [...volumeRoots, ...(workspaceRoot === null ? [] : [workspaceRoot])],
    found: (problem) => conditions.set('volume-options', problem),
    everyMs: VOLUME_ROOT_CHECK_MS,
  });
}

async function startFirewall({ firewall }: AgentParts, conditions: Conditions): Promise<() => void> {
  if (!firewall) return () => {};
  const found = (problem: string | undefined) => conditions.set('no-firewall', problem);
  return await watchFirewall({ firewall, found, everyMs: FIREWALL_MS });
}

function scheduleHousekeeping(
  { logDays }: Config,
  { engine, log }: AgentParts,
  { output, agent, images }: Assembly,
): () => void {
  return startHousekeeping({
    engine,
    output,
    agent,
    images,
    logDays,
    log,
    nowMs: Date.now,
    logsEveryMs: LOG_EXPIRY_MS,
    networksEveryMs: NETWORK_REMOVAL_MS,
    imagesEveryMs: IMAGE_REMOVAL_MS,
  });
}

/** Stays connected. Each connection has its own session. */
function connect(
  { urls }: Config,
  { id: engine }: EngineFacts,
  { addresses = new Addresses(urls), identity, log, stopSignal }: AgentParts,
  { begin }: Assembly,
): Promise<void> {
  return stayConnected({
    addresses,
    identity,
    engine,
    begin,
    log,
    nowMs: Date.now,
    random: Math.random,
    pingMs: PING_MS,
    signal: stopSignal,
  });
}

/** Waits for the engine without a time limit. Undefined if `signal` aborts first. */
async function waitForFacts(
  engine: Engine,
  log: Logger,
  signal: AbortSignal,
): Promise<EngineFacts | undefined> {
  for (let isLogged = false; !signal.aborted; isLogged = true) {
    try {
      return await engine.facts();
    } catch (error) {
      if (!isLogged) log('engine.unreachable', { reason: messageOf(error) });
      await sleep(ENGINE_RETRY_MS, signal);
    }
  }
  return undefined;
}
