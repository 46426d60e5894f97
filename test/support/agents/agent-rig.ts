/** A complete agent for tests, on any engine, connected to a peer that plays the control plane. */
import type { Machine } from '../../../agent/config.ts';
import { Addresses } from '../../../agent/connection/addresses.ts';
import type { Identity } from '../../../agent/connection/identity.ts';
import { ControlPlaneSession } from '../../../agent/connection/session.ts';
import { stayConnected } from '../../../agent/connection/socket.ts';
import type { Engine } from '../../../agent/engine/engine.ts';
import type { OpenTarget } from '../../../agent/engine/streams/target.ts';
import { compareClocks } from '../../../agent/host/clock-check.ts';
import { Conditions, stuckContainers, unknownContainers } from '../../../agent/host/conditions.ts';
import { punchHole } from '../../../agent/host/punch-hole.ts';
import { runningContainerOf } from '../../../agent/host/usage.ts';
import { UsageHistory } from '../../../agent/host/usage-history.ts';
import { UsageMeter } from '../../../agent/host/usage-meter.ts';
import { OutputStore } from '../../../agent/logs/output-store.ts';
import { Agent } from '../../../agent/services/agent.ts';
import { EngineWatcher } from '../../../agent/services/engine-watcher.ts';
import { Lease, type Moment } from '../../../agent/services/lease.ts';
import { Reporter } from '../../../agent/services/reporter.ts';
import { noCredentials, noFiles, noSecrets } from '../fixtures/assignments.ts';
import { ControlPlanePeer } from './control-plane-peer.ts';

export interface AgentRig {
  peer: ControlPlanePeer;
  agent: Agent;
  lease: Lease;
  output: OutputStore;
  conditions: Conditions;
  /** Settles when the agent gives up or is closed. */
  connected: Promise<void>;
  log: string[];
  close(): Promise<void>;
}

const realNow = (): Moment => ({ uptimeMs: performance.now(), wallMs: Date.now() });

/** The peer accepts any identity. */
const someone: Identity = { headers: async () => ({ Authorization: 'Bearer secret' }) };

export interface RigOptions {
  /** A successor with the same folder finds its data. */
  dataDir: string;
  nowMs?: () => number;
  refreshMs?: number;
  /** Randomness of the pauses before the agent dials again. */
  random?: () => number;
  /** Clock of the lease, which the test checks itself. */
  now?: () => Moment;
  logMaxBytes?: number;
  hangsMs?: number;
  openTarget?: OpenTarget;
}

const noTarget: OpenTarget = async () => {
  throw new Error('no streams in this test');
};

export async function agentRig(
  engine: Engine,
  {
    dataDir,
    nowMs = Date.now,
    now = realNow,
    refreshMs = 60_000,
    random = () => 0,
    logMaxBytes = 2 ** 30,
    hangsMs = 60_000,
    openTarget = noTarget,
  }: RigOptions,
): Promise<AgentRig> {
  const peer = await ControlPlanePeer.open();
  const lines: string[] = [];
  const log = (event: string, fields = {}) => lines.push(JSON.stringify({ event, ...fields }));
  const output = new OutputStore(dataDir, engine, log, { maxBytes: logMaxBytes, punchHole });
  const reporter = new Reporter();
  const conditions = new Conditions({ log, changed: (all) => reporter.setConditions(all) });
  const agent: Agent = new Agent({
    engine,
    output,
    reporter,
    ...{ fetchSecrets: noSecrets, fetchCredentials: noCredentials, secretFiles: noFiles },
    log,
    cores: 2,
    hangsMs,
    lowDisk: () => conditions.textOf('low-disk'),
    leftAlone: (services) => conditions.set('unknown-containers', unknownContainers(services)),
    stuck: (services) => conditions.set('stuck-containers', stuckContainers(services)),
    onEngineFailure: () => watch.refreshSoon(),
  });
  const watch = new EngineWatcher({
    engine,
    changed: (id) => agent.containerChanged(id),
    refresh: () => agent.refresh(),
    lost: () => {},
    refreshMs,
    retryMs: 20,
    log,
  });
  const usages = new UsageHistory();
  const meter = new UsageMeter({
    engine,
    running: () => agent.inventory().flatMap(runningContainerOf),
    cores: 2,
    found: (usage) => reporter.setUsage(usage),
    history: usages,
    uptimeMs: () => performance.now(),
    timeoutMs: 5000,
    log,
  });
  const seen = Promise.withResolvers<void>();
  const watching = watch.run(seen.resolve);
  await seen.promise;
  const lease = new Lease({
    file: `${dataDir}.lease.json`,
    now,
    onExpired: (unknown) => agent.lapse(unknown),
    log,
  });
  lease.check();
  const stop = new AbortController();
  const host = {
    name: 'node1',
    address: '127.0.0.1',
    labels: [],
    memoryBytes: 1,
    cores: 1,
    agentVersion: '0',
    engineVersion: '0',
  };
  const connected = stayConnected({
    addresses: new Addresses([peer.url]),
    identity: someone,
    engine: 'fake',
    begin: (socket) =>
      new ControlPlaneSession(socket, {
        agent,
        reporter,
        output,
        deployment: 'test',
        host,
        engine: { id: 'fake' },
        log,
        nowMs,
        lease,
        clock: (exchange) => compareClocks(exchange, conditions),
        measure: () => meter.measure(),
        usageOf: (key) => usages.linesOf(key),
        makeOverlay: () => {},
        welcomed: () => {},
        openTarget,
        update: () => {},
      }),
    log,
    nowMs: Date.now,
    random,
    pingMs: 60_000,
    signal: stop.signal,
  });
  connected.catch(() => {});
  const close = async () => {
    stop.abort();
    peer.close();
    watch.close();
    agent.close();
    await watching;
    await output.close();
  };
  return { peer, agent, lease, output, conditions, connected, log: lines, close };
}

/** A machine without an address that others reach. */
export const machine: Machine = {
  ...{ hostname: 'node1', routedAddress: undefined, addresses: [], hasWholeLoopback: true },
  dockerHost: 'unix:///nowhere.sock',
};

/** Limits that no test reaches, for an output store of its own. */
export const limits = { maxBytes: 2 ** 30, punchHole };
