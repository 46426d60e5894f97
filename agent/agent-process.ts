/**
 * The agent process: runs one agent until SIGTERM or SIGINT, or until an update takes its place. Containers
 * continue to run after the agent ends.
 */
import { basename } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import packageJson from '../package.json' with { type: 'json' };
import { AGENT_BUNDLE } from '../shared/protocol/release.ts';
import { unknownIn } from '../shared/settings/setting-names.ts';
import { type Config, readConfig } from './config.ts';
import { Addresses } from './connection/addresses.ts';
import { HostIdentity } from './connection/identity.ts';
import { RefusedError } from './connection/refused-error.ts';
import { credentialsFrom, secretsFrom } from './connection/secrets.ts';
import { DockerEngine } from './engine/docker/docker-engine.ts';
import { connectEngine, socketOf } from './engine/engine-address.ts';
import { BegunCommands } from './engine/streams/begun-commands.ts';
import {
  type ConnectContainer,
  containerTargets,
  endLeftCommands,
} from './engine/streams/container-targets.ts';
import { lockFolder } from './host/data-folder-lock.ts';
import { probeDisk } from './host/disk.ts';
import { type Firewall, hostFirewall } from './host/firewall.ts';
import { readMachine } from './host/machine.ts';
import { punchHole } from './host/punch-hole.ts';
import { jsonLogger, type Logger, messageOf } from './logger.ts';
import { reservedBytes } from './reserve.ts';
import { serveAgent } from './serving.ts';
import { downloadBundle } from './update/download.ts';
import { endWithParent, passTrial, tryOut } from './update/trial.ts';
import { type Candidate, Updater } from './update/updater.ts';

/** Timeout of one engine call. The longest regular call is a stop, which waits for the grace period. */
const ENGINE_TIMEOUT_MS = 120_000;
const PULL_STALL_MS = 60_000;
const PULL_PROGRESS_MS = 1000;
const PULL_RETRY_MS = 1000;
const LOCK_WAIT_MS = 2_000;

/** What stays the same over the updates that fail. */
interface AgentProcess {
  env: NodeJS.ProcessEnv;
  settings: Config;
  log: Logger;
  addresses: Addresses;
  updater: Updater;
  signal: AbortSignal;
}

/**
 * The bytes of streams pass through short-lived buffers, whose size makes V8 mark its whole heap every few
 * megabytes. In steps beside the program that takes far longer than at once: this heap is small (STREAM-21).
 */
const collectAtOnce = () => setFlagsFromString('--no-incremental-marking');

/**
 * Runs an agent with the settings in `env` until SIGTERM or SIGINT, or until an update is in its place, which
 * a process supervisor must then start. A second signal ends the process at once. Throws ConfigError
 * (FolderTakenError if another agent uses the data folder), or RefusedError if the control plane permits no
 * retry.
 */
export async function runAgent(env: NodeJS.ProcessEnv): Promise<void> {
  collectAtOnce();
  const settings = readConfig(env, readMachine());
  const stop = new AbortController();
  const onSignal = () => {
    if (stop.signal.aborted) process.exit(130);
    stop.abort();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  endWithParent(onSignal);
  const log = jsonLogger(process.stderr, Date.now);
  for (const unknown of unknownIn(env)) log('setting.unknown', { ...unknown });
  const addresses = new Addresses(settings.urls);
  const updater = updaterOf(settings, addresses, log, stop.signal);
  await updater
    .removeLeftover()
    .catch((error: unknown) => log('update.leftover', { reason: messageOf(error) }));
  const agentProcess = { env, settings, log, addresses, updater, signal: stop.signal };
  try {
    for (;;) {
      await serve(agentProcess);
      const { candidate } = updater;
      if (!candidate || (await isReplacedBy(candidate, agentProcess)) || stop.signal.aborted) return;
    }
  } finally {
    process.off('SIGTERM', onSignal).off('SIGINT', onSignal);
  }
}

/** Serves until the process is to stop, or until an update is there. */
async function serve({ env, settings, log, addresses, updater, signal }: AgentProcess): Promise<void> {
  const stopSignal = AbortSignal.any([signal, updater.signal]);
  const unlock = await lockFolder(`${settings.dataDir}/${settings.deployment}`, {
    log,
    nowMs: Date.now,
    waitMs: LOCK_WAIT_MS,
    signal: stopSignal,
  });
  try {
    const identity = await HostIdentity.open(settings, log, Date.now);
    const config = { ...settings, name: identity.name };
    const firewall = config.firewall ? hostFirewall(socketOf(config.dockerHost) !== undefined) : undefined;
    const engine = dockerEngine(config, env, log, firewall);
    const source = { addresses, identity };
    const fetchSecrets = secretsFrom(source, config.deployment);
    const fetchCredentials = credentialsFrom(source, config.deployment);
    const connectContainer = containerConnector(config, log);
    const fetches = { fetchSecrets, fetchCredentials };
    const own = { addresses, ...fetches, connectContainer, updater, welcomed: passTrial };
    const parts = { engine, identity, log, probeDisk, punchHole, firewall, stopSignal, ...own };
    await serveAgent(config, parts).catch(async (error) => {
      if (error instanceof RefusedError && error.revoked) await identity.discard();
      throw error;
    });
  } finally {
    unlock();
  }
}

/** Whether the candidate has connected, and is now in the place of this agent. */
async function isReplacedBy(
  candidate: Candidate,
  { env, settings, updater, signal }: AgentProcess,
): Promise<boolean> {
  const { path } = candidate;
  const reason = await tryOut({ candidate: path, env, waitMs: settings.update.waitMs, signal })
    .then(async (problem) => problem ?? (await updater.install(candidate)))
    .catch(messageOf);
  if (reason !== undefined) await updater.reject(candidate, reason);
  return reason === undefined;
}

function updaterOf({ update }: Config, addresses: Addresses, log: Logger, signal: AbortSignal): Updater {
  const [, program = ''] = process.argv;
  return new Updater({
    terms: {
      ...update,
      program: basename(program) === AGENT_BUNDLE ? program : undefined,
      version: packageJson.version,
    },
    download: () => downloadBundle(addresses.current, signal),
    log,
  });
}

/**
 * Registers this machine as a host with the join token in `env`, unless it is a host already. Resolves to a
 * sentence for the administrator.
 */
export async function joinCluster(env: NodeJS.ProcessEnv): Promise<string> {
  const config = readConfig(env, readMachine());
  const identity = await HostIdentity.open(config, () => {}, Date.now);
  const idBefore = identity.hostId;
  const hostId = await identity.join().catch(async (error: unknown) => {
    // The control plane never registered this new key, so the key is useless. An older key may be registered:
    // the answer to its registration may have been lost.
    if (error instanceof RefusedError && identity.isNew) await identity.discard();
    throw error;
  });
  const change = idBefore === null ? 'is now' : 'was already';
  return `This machine ${change} host ${hostId} (${identity.name}) of deployment ${config.deployment}.`;
}

function dockerEngine(
  config: Config,
  env: NodeJS.ProcessEnv,
  log: Logger,
  firewall: Firewall | undefined,
): DockerEngine {
  const { dockerHost, deployment, name, reserve, dataDir } = config;
  return new DockerEngine(connectEngine(dockerHost, ENGINE_TIMEOUT_MS), connectEngine(dockerHost), {
    deployment,
    host: name,
    local: socketOf(dockerHost) !== undefined,
    reservedOf: (totalBytes) => reservedBytes(reserve, totalBytes),
    logMaxBytes: config.logMaxBytes,
    volumeRoots: config.volumeRoots,
    workspaceRoot: config.workspaceRoot,
    network: config.network,
    networks: config.networks,
    overlay: config.overlay,
    subnets: config.subnets,
    bridgeMade: async () => firewall?.ensure(),
    bind: config.bind,
    capabilities: config.capabilities,
    etcFiles: config.etcFiles,
    runAs: config.runAs,
    pull: {
      env,
      registries: config.registries,
      stallMs: PULL_STALL_MS,
      progressEveryMs: PULL_PROGRESS_MS,
      retryMs: PULL_RETRY_MS,
    },
    images: { file: `${dataDir}/${deployment}/images.json`, log, nowMs: Date.now },
    intentsFile: `${dataDir}/${deployment}/pulls.json`,
  });
}

/** Commands that an earlier process of this agent has left are ended meanwhile. */
function containerConnector(config: Config, log: Logger): ConnectContainer {
  const { dockerHost, deployment, name, secretsDir, dataDir } = config;
  const docker = connectEngine(dockerHost);
  const options = {
    deployment,
    host: name,
    secretsDir,
    local: socketOf(dockerHost) !== undefined,
    begun: new BegunCommands(`${dataDir}/${deployment}/commands`),
  };
  void endLeftCommands(docker, options, log);
  return containerTargets(docker, options);
}
