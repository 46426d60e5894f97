/**
 * Measures the scheduler alone: the core on simulated hosts, in this process and without a database. What
 * waits has no services in memory; they are made when it is placed, as in a turn of the coordinator.
 */
import { submit as admit } from '../../../control-plane/core/lifecycle/admission.ts';
import { observe } from '../../../control-plane/core/lifecycle/observations.ts';
import { reconciling } from '../../../control-plane/core/lifecycle/reconciler.ts';
import { newServices } from '../../../control-plane/core/lifecycle/submission.ts';
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import { type Host, newHost } from '../../../control-plane/core/model/host.ts';
import {
  placementPolicies,
  queuePolicies,
  type SchedulerConfig,
} from '../../../control-plane/core/model/scheduler-config.ts';
import type { Service } from '../../../control-plane/core/model/service.ts';
import type { Cluster } from '../../../control-plane/core/state/cluster.ts';
import type { Decision } from '../../../control-plane/core/state/decision.ts';
import { load, unloadWaiting } from '../../../control-plane/core/state/loading.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { application, needs, service } from '../../../test/support/fixtures/applications.ts';
import { exited, gone, keyOfService, running } from '../../../test/support/rigs/core-rig.ts';
import { bounded, floored, type Measurement, median } from '../figure.ts';
import { clusterOf, NOW_MS, USERS, unboundedConfig } from '../waiting.ts';

const GIB = 2 ** 30;
const ROUNDS = 5;
const EVENTS = 300;
/** Number of distinct demands of queued executions, from half a core to 16. A tenth of them are gangs. */
const DEMANDS = 200;

export async function measureScheduler(): Promise<Measurement[]> {
  return [...measurePlacements(), ...[fewDemands, distinctDemands].flatMap(measureFullCluster)];
}

/** 1,000 hosts, 10,000 queued executions that all fit. */
function measurePlacements(): Measurement[] {
  const policies: SchedulerConfig[] = [
    ...queuePolicies.map((queuePolicy) => ({ ...unboundedConfig, queuePolicy })),
    ...placementPolicies.slice(1).map((placementPolicy) => ({ ...unboundedConfig, placementPolicy })),
  ];
  return policies.map((policy) => {
    const figure = median(
      // The first round is for the compiler.
      Array.from({ length: ROUNDS + 1 }, () => {
        const cluster = clusterOf(1_000, policy, hostOf);
        for (let at = 0; at < 10_000; at++) submit(cluster, at, smallApplication(at));
        const { ms, result } = timed(() => runTurn(cluster));
        const placed = result.filter(({ kind }) => kind === 'place').length;
        if (placed !== 10_000) throw new Error(`${placed} of 10,000 were placed`);
        return (placed / ms) * 1_000;
      }).slice(1),
    );
    const name = `placements, 10,000 that fit on 1,000 hosts (${policy.queuePolicy}, ${policy.placementPolicy})`;
    return floored(name, '/s', figure, 20_000);
  });
}

/** Executions that stay queued. */
interface Queued {
  name: string;
  applicationOf: (at: number) => Application;
}

/** 10,000 almost full hosts, 100,000 queued executions of which few fit; then one event at a time. */
function measureFullCluster({ name: demands, applicationOf }: Queued): Measurement[] {
  const { cluster, blockers } = fullCluster();
  for (let at = 0; at < 100_000; at++) submit(cluster, at, applicationOf(at));
  const pass = timed(() => runTurn(cluster));
  const queued = cluster.queue.size;
  if (queued < 90_000) throw new Error(`only ${queued} executions are queued`);
  for (const host of cluster.hosts.values()) cluster.hostIndex.withFreedCapacity.add(host);
  const again = timed(() => runTurn(cluster));
  const event = (name: string, happen: (at: number) => void): Measurement => {
    const times = Array.from({ length: EVENTS }, (_, at) => {
      happen(at);
      return timed(() => runTurn(cluster)).ms;
    });
    return bounded(`decision after ${name}, ${demands}`, 'ms', median(times), 2);
  };
  return [
    bounded(`first pass, 100,000 queued of ${demands}, few fit, 10,000 hosts`, 'ms', pass.ms, 1_000),
    bounded(`second pass over all hosts, ${demands}`, 'ms', again.ms, 1_000),
    event('an end', (at) => {
      const one = blockers[at * 7]?.services[0] as Service;
      see(cluster, one, exited(0));
      runTurn(cluster);
      see(cluster, one, gone);
    }),
    event('a submission', (at) => submit(cluster, 100_000 + at, applicationOf(100_000 + at))),
    event("a host's report", (at) => {
      const one = blockers[(at + EVENTS) * 7]?.services[0] as Service;
      hostOfService(cluster, one).lastContactMs = NOW_MS;
      cluster.touch(one);
    }),
  ];
}

/** Hosts of four sizes. Every tenth has a label. */
const hostOf = (id: number): Host => ({
  ...newHost(id, `host${id}`, NOW_MS),
  connected: true,
  memoryBytes: (64 << (id % 4)) * GIB,
  cores: 16 << (id % 4),
  labels: id % 10 === 0 ? gpu : none,
});
const gpu = ['gpu'];
const none: string[] = [];

/** Hosts with less than one free core each, filled with running executions of four cores. */
function fullCluster(): { cluster: Cluster; blockers: Execution[] } {
  const cluster = clusterOf(10_000, unboundedConfig, hostOf);
  const blocker = application(service({ resources: needs(4 * GIB, 4) }));
  const cores = [...cluster.hosts.values()].reduce((sum, host) => sum + host.cores, 0);
  const blockers = Array.from({ length: cores / 4 }, (_, at) => submit(cluster, at, blocker));
  runTurn(cluster);
  for (const { services } of blockers)
    for (const one of services) if (one.hostId !== null) see(cluster, one, running);
  runTurn(cluster);
  cluster.takeChanges();
  return { cluster, blockers };
}

function hostOfService(cluster: Cluster, one: Service): Host {
  const host = cluster.hosts.get(one.hostId ?? 0);
  if (!host) throw new Error(`service ${one.id} has no host`);
  return host;
}

/** The host of a service observes it. */
function see(cluster: Cluster, one: Service, seen: typeof running): void {
  const observation = { ...seen, ...keyOfService(one) } as Parameters<typeof observe>[2];
  observe(cluster, hostOfService(cluster, one), observation, NOW_MS);
}

const smallApplications = Array.from({ length: DEMANDS }, (_, at) =>
  application(service({ resources: needs((1 + (at % 8)) * 2 ** 28, (1 + (at % 5)) / 4) })),
);
const smallApplication = (at: number): Application => smallApplications[at % DEMANDS] as Application;

/** A tenth are gangs; a seventh require a label. */
const largeApplication = (at: number, memoryBytes: number): Application => {
  const count = at % 10 === 0 ? 4 : 1;
  return application(
    service({
      total_count: count,
      essential_count: count,
      resources: needs(memoryBytes, 1 + (at % 31) / 2),
      ...(at % 7 === 0 ? { labels: ['gpu'] } : {}),
    }),
  );
};

const largeApplications = Array.from({ length: DEMANDS }, (_, at) =>
  largeApplication(at, (1 + (at % 16)) * GIB),
);
const fewDemands: Queued = {
  name: `${DEMANDS} different demands`,
  applicationOf: (at) => largeApplications[(at * 7919) % DEMANDS] as Application,
};
const distinctDemands: Queued = {
  name: 'demands that all differ',
  applicationOf: (at) => largeApplication(at * 7919, (1 + ((at * 7919) % 16)) * GIB + at),
};

function submit(cluster: Cluster, at: number, described: Application): Execution {
  const submission = { userId: 1 + (at % USERS), name: 'bench', application: described, description: '' };
  const execution = admit(cluster, submission, NOW_MS);
  applications.set(execution, described);
  return execution;
}

/** What is submitted, in place of the database. */
const applications = new WeakMap<Execution, Application>();

/** Decides, and loads what is placed. */
function runTurn(cluster: Cluster): Decision[] {
  const steps = reconciling(cluster, NOW_MS);
  let step = steps.next();
  for (; !step.done; step = steps.next())
    for (const execution of step.value) {
      const described = applications.get(execution);
      if (!described) throw new Error(`execution ${execution.id} was not submitted here`);
      load(cluster, execution, { text: '', application: described }, newServices(execution, described));
    }
  unloadWaiting(cluster);
  return step.value;
}

function timed<T>(run: () => T): { ms: number; result: T } {
  const startMs = performance.now();
  const result = run();
  return { ms: performance.now() - startMs, result };
}
