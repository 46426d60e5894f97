/** Assembles the parts of an agent and connects their callbacks. Starts nothing: that is agent-process.ts. */
import { uptime } from 'node:os';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import type { HostFacts } from '../shared/protocol/up.ts';
import { CopyLimits } from './channels/copy-limits.ts';
import type { Config } from './config.ts';
import type { Addresses } from './connection/addresses.ts';
import type { Identity } from './connection/identity.ts';
import { ControlPlaneSession } from './connection/session.ts';
import type { SessionSocket } from './connection/session-options.ts';
import type { Engine, EngineFacts } from './engine/engine.ts';
import { SecretFiles } from './engine/folders/secret-files.ts';
import type { FetchSecrets } from './engine/folders/start-secrets.ts';
import type { FetchCredentials } from './engine/pulls/pull-credentials.ts';
import type { ConnectContainer } from './engine/streams/container-targets.ts';
import { compareClocks } from './host/clock-check.ts';
import { Conditions, stuckContainers, unknownContainers } from './host/conditions.ts';
import { type DiskProbe, engineFolder, isDiskLow, lowText } from './host/disk.ts';
import type { Firewall } from './host/firewall.ts';
import { ImageRemoval } from './host/image-removal.ts';
import { sharedHost } from './host/shared-host.ts';
import { runningContainerOf } from './host/usage.ts';
import { UsageHistory } from './host/usage-history.ts';
import { UsageMeter } from './host/usage-meter.ts';
import { type Logger, messageOf } from './logger.ts';
import type { PunchHole } from './logs/log-retention.ts';
import { OutputStore } from './logs/output-store.ts';
import { reservedBytes } from './reserve.ts';
import { Agent } from './services/agent.ts';
import { EngineWatcher } from './services/engine-watcher.ts';
import { Lease } from './services/lease.ts';
import { sameKey } from './services/plan.ts';
import { Reporter } from './services/reporter.ts';
import type { Updater } from './update/updater.ts';

const ENGINE_REFRESH_MS = 30_000;
const ENGINE_RETRY_MS = 1000;
const USAGE_TIMEOUT_MS = 5000;

/** What an agent needs besides its settings. */
export interface AgentParts {
  engine: Engine;
  identity: Identity;
  log: Logger;
  probeDisk: DiskProbe;
  punchHole: PunchHole;
  /** Undefined: the agent leaves the machine's firewall alone. */
  firewall?: Firewall | undefined;
  stopSignal: AbortSignal;
  /** Default: those of the settings. */
  addresses?: Addresses | undefined;
  fetchSecrets: FetchSecrets;
  fetchCredentials: FetchCredentials;
  /** Undefined: the agent opens no streams. */
  connectContainer?: ConnectContainer | undefined;
  /** Undefined: the agent refuses updates by its control plane. */
  updater?: Updater | undefined;
  /** Called at each welcome. */
  welcomed?: () => void;
  /** A clock that is never set and that runs on while the machine sleeps. Default: this machine's uptime. */
  uptimeMs?: () => number;
}

/** The parts of an agent that its process uses. */
export interface Assembly {
  /** Begins a session on a new connection. */
  begin(socket: SessionSocket): ControlPlaneSession;
  output: OutputStore;
  conditions: Conditions;
  agent: Agent;
  watch: EngineWatcher;
  lease: Lease;
  images: ImageRemoval;
  meter: UsageMeter;
}

export function assemble(config: Config, facts: EngineFacts, parts: AgentParts): Assembly {
  const { engine, log, punchHole, probeDisk, uptimeMs = () => 1000 * uptime() } = parts;
  const folder = `${config.dataDir}/${config.deployment}`;
  const output = new OutputStore(`${folder}/logs`, engine, log, {
    maxBytes: config.logMaxBytes,
    punchHole,
  });
  const reporter = new Reporter();
  const conditions = new Conditions({ log, changed: (all) => reporter.setConditions(all) });
  const { secretsDir, deployment, name } = config;
  const secretsFolder = secretsDir === null ? undefined : join(secretsDir, deployment, name);
  const secretFiles = new SecretFiles(secretsFolder, (text) => conditions.set('no-secret-files', text));
  void secretFiles.check();
  const agent: Agent = new Agent({
    engine,
    output,
    reporter,
    fetchSecrets: parts.fetchSecrets,
    fetchCredentials: parts.fetchCredentials,
    secretFiles,
    log,
    cores: hostFacts(config, facts).cores,
    lowDisk: () => conditions.textOf('low-disk'),
    leftAlone: (services) => {
      conditions.set('unknown-containers', unknownContainers(services));
      void secretFiles.check();
      // Until the first sync, an agent that this one replaces may write files for starts that only it knows.
      if (agent.images() === undefined) return;
      secretFiles
        .retain(({ service, generation }) => agent.isKnown(service, generation))
        .catch((error: unknown) => log('secrets.removal-failed', { reason: messageOf(error) }));
    },
    stuck: (services) => conditions.set('stuck-containers', stuckContainers(services)),
    onEngineFailure: () => watch.refreshSoon(),
  });
  const watch = engineWatcher(agent, conditions, reporter, parts);
  parts.updater?.reportTo((failure) => conditions.set('update-failed', failure));
  engine.watchFolders((problem) => conditions.set('unpinned-folders', problem));
  const lease = new Lease({
    file: `${folder}/lease.json`,
    now: () => ({ uptimeMs: uptimeMs(), wallMs: Date.now() }),
    onExpired: (unknown) => agent.lapse(unknown),
    log,
  });
  const usages = new UsageHistory();
  const meter = new UsageMeter({
    engine,
    running: () => agent.inventory().flatMap(runningContainerOf),
    cores: facts.cores,
    found: (usage) => reporter.setUsage(usage),
    history: usages,
    uptimeMs,
    timeoutMs: USAGE_TIMEOUT_MS,
    log,
  });
  const shared = { agent, reporter, output, conditions, lease, meter, usages };
  const begin = sessionFactory(config, facts, parts, shared);
  const images = new ImageRemoval({
    engine,
    wanted: () => agent.images(),
    keepDays: config.keepImagesDays,
    isLow: isDiskLow(facts.dataDir, config.minDiskBytes, probeDisk),
    log,
  });
  return { begin, output, conditions, agent, watch, lease, images, meter };
}

function engineWatcher(
  agent: Agent,
  conditions: Conditions,
  reporter: Reporter,
  { engine, log }: AgentParts,
): EngineWatcher {
  return new EngineWatcher({
    engine,
    changed: (id) => agent.containerChanged(id),
    refresh: async () => {
      await agent.refresh();
      conditions.set('no-network', await engine.networkProblem());
      reporter.setSwarm(await engine.swarm());
    },
    lost: (reason) => conditions.set('no-engine', reason),
    refreshMs: ENGINE_REFRESH_MS,
    retryMs: ENGINE_RETRY_MS,
    log,
  });
}

/** Returns the function that begins a session on each connection. All sessions share one usage meter. */
function sessionFactory(
  config: Config,
  facts: EngineFacts,
  { engine, log, updater, welcomed, connectContainer, probeDisk }: AgentParts,
  {
    agent,
    reporter,
    output,
    conditions,
    lease,
    meter,
    usages,
  }: Omit<Assembly, 'begin' | 'watch' | 'images'> & { reporter: Reporter; usages: UsageHistory },
): Assembly['begin'] {
  const host = hostFacts(config, facts);
  const engineOf = { id: facts.id, ...(config.acceptedEngine === facts.id && { accepted: true as const }) };
  const copies = copyLimits(config, facts, probeDisk);
  return (socket) =>
    new ControlPlaneSession(socket, {
      agent,
      reporter,
      output,
      deployment: config.deployment,
      host,
      engine: engineOf,
      log,
      nowMs: Date.now,
      lease,
      clock: (exchange) => compareClocks(exchange, conditions),
      measure: () => meter.measure(),
      usageOf: (key) => usages.linesOf(key),
      openTarget: async (key, target) => {
        const container = agent.running().find((one) => sameKey(one, key));
        if (container?.state !== 'running') throw new Error('the service is not running');
        if (!connectContainer) throw new Error('this host opens no streams');
        return copies.open(target, () => connectContainer(container, target));
      },
      welcomed: ({ publicUrl }) => {
        conditions.set('shared-host', sharedHost(config, publicUrl));
        welcomed?.();
      },
      update: (release) => updater?.request(release),
      makeOverlay: (overlay) =>
        void engine.makeOverlay(overlay).catch((error: unknown) => {
          const { isolation, of } = overlay;
          log('network.creation-failed', { isolation, of, reason: messageOf(error) });
        }),
    });
}

function copyLimits(config: Config, { dataDir }: EngineFacts, probe: DiskProbe): CopyLimits {
  const { maxCopies, copyMaxBytes: maxBytes, minDiskBytes } = config;
  const lowDisk = async () => {
    if (dataDir === undefined || minDiskBytes === 0) return undefined;
    const folder = await engineFolder(dataDir, config.dataDir, probe);
    const space = await probe(folder);
    return space && lowText(folder, space, minDiskBytes, false);
  };
  return new CopyLimits({ maxCopies, maxBytes, lowDisk });
}

function hostFacts(config: Config, { memoryBytes, cores, version }: EngineFacts): HostFacts {
  const { name, address, labels, reserve } = config;
  return {
    name,
    address,
    labels,
    memoryBytes: Math.max(0, memoryBytes - reservedBytes(reserve, memoryBytes)),
    cores: Math.max(0, cores - reserve.cores),
    agentVersion: packageJson.version,
    engineVersion: version,
  };
}
