/**
 * The pure core on a test rig: a cluster, a clock that only tests advance, and the inputs that the
 * coordinator would pass on. Sends and commits nothing. What makes a turn returns its decisions as text.
 */
import type { Quota, User } from '../../../control-plane/core/accounts/account.ts';
import { handleClockStep, type Moment } from '../../../control-plane/core/hosts/clock-step.ts';
import { changeHost, type HostChanges } from '../../../control-plane/core/hosts/drain.ts';
import { removeHost } from '../../../control-plane/core/hosts/host-removal.ts';
import { submit } from '../../../control-plane/core/lifecycle/admission.ts';
import {
  observe,
  observeForgotten,
  welcomeHost,
} from '../../../control-plane/core/lifecycle/observations.ts';
import { reconcile } from '../../../control-plane/core/lifecycle/reconciler.ts';
import { requestDeletion, requestEnd } from '../../../control-plane/core/lifecycle/state-transitions.ts';
import {
  newExecution,
  newServices,
  type Submission,
} from '../../../control-plane/core/lifecycle/submission.ts';
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import { type Host, newHost } from '../../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../../control-plane/core/model/scheduler-config.ts';
import type { Service } from '../../../control-plane/core/model/service.ts';
import type { NextIds } from '../../../control-plane/core/state/changes.ts';
import { Cluster } from '../../../control-plane/core/state/cluster.ts';
import type { Decision } from '../../../control-plane/core/state/decision.ts';
import { load } from '../../../control-plane/core/state/loading.ts';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import type { Condition, HostFacts, Observation } from '../../../shared/protocol/up.ts';
import { application, service } from '../fixtures/applications.ts';

const GIB = 1024 ** 3;

type Seen = Observation extends infer One
  ? One extends Observation
    ? Omit<One, 'service' | 'generation'>
    : never
  : never;

export const created: Seen = { state: 'created', containerId: 'c' };
export const running: Seen = {
  state: 'running',
  containerId: 'c',
  ipAddress: '10.0.0.2',
  ports: [],
  startedAtMs: 1,
};
export const exited = (exitCode: number, outOfMemory = false): Seen => ({
  state: 'exited',
  containerId: 'c',
  exitCode,
  outOfMemory,
  finishedAtMs: 2,
});
export const failed = (temporary: boolean, message = 'no such thing'): Seen => ({
  state: 'failed',
  temporary,
  message,
});
export const gone: Seen = { state: 'gone' };

export const hostFacts = (name: string, changes: Partial<HostFacts> = {}): HostFacts => ({
  name,
  address: '192.0.2.1',
  labels: [],
  memoryBytes: 8 * GIB,
  cores: 4,
  agentVersion: '1',
  engineVersion: '20.10',
  ...changes,
});

/** A condition for which a host takes no new services. */
export const lowDisk: Condition = { kind: 'low-disk', text: '0.4 GiB free at /var/lib/docker' };
/** A condition for which a host takes no services with files that have secrets. */
export const noSecretFiles: Condition = { kind: 'no-secret-files', text: 'its folder is on a disk' };

/** No caps except those given. */
export const quota = (id: number, caps: Partial<Quota> = {}): Quota => ({
  id,
  name: `quota-${id}`,
  concurrentExecutions: 0,
  memoryBytes: 0,
  cores: 0,
  timeLimitS: 0,
  maxTimeLimitS: 0,
  ...caps,
});

export const user = (id: number, quotaId: number): User => ({
  id,
  username: `user-${id}`,
  email: '',
  roleId: 3,
  quotaId,
  authSource: 'internal',
  fsUid: 1000,
  priority: 0,
  enabled: true,
  credentialVersion: 1,
});

/** A new execution with its services in memory. */
export function loadedExecution(ids: NextIds, submission: Submission, nowMs: number): Execution {
  const execution = newExecution(ids, submission, nowMs);
  execution.description = submission.description;
  execution.services = newServices(execution, submission.application);
  return execution;
}

/** User 1 has quota 1, user 2 has quota 2, both without caps. */
export class CoreRig {
  cluster: Cluster;
  nowMs = 1_000_000_000;
  /** Every decision so far, as text, in order. */
  readonly decisionLog: string[] = [];
  /** The decisions of the last turn. */
  decisions: readonly Decision[] = [];
  #last: Moment | null = null;
  #stepsMs = 0;

  constructor(scheduling: Partial<SchedulerConfig> = {}) {
    this.cluster = new Cluster(
      { execution: 1, service: 1, host: 1 },
      { ...defaultSchedulerConfig, ...scheduling },
    );
    for (const id of [1, 2]) {
      this.cluster.setQuota(quota(id));
      this.cluster.setUser(user(id, id));
    }
  }

  submit(description: Application = application(), userId = 1, timeLimitS?: number): Execution {
    const text = JSON.stringify(description);
    const submission = { userId, name: 'run', application: description, description: text, timeLimitS };
    const execution = submit(this.cluster, submission, this.nowMs);
    load(this.cluster, execution, { text, application: description }, newServices(execution, description));
    return execution;
  }

  submitInTurn(...submission: Parameters<CoreRig['submit']>): Execution {
    const execution = this.submit(...submission);
    this.turn();
    return execution;
  }

  /** A host says hello; an unknown one joins first. */
  hello(facts: HostFacts, inventory: readonly Observation[] = []): Host {
    let host = this.cluster.hostNamed(facts.name);
    if (!host) {
      host = newHost(this.cluster.nextIds.host++, facts.name, this.nowMs);
      this.cluster.addHost(host);
      this.cluster.changes.newHosts.add(host);
    }
    welcomeHost(this.cluster, host, facts, inventory, this.nowMs);
    return host;
  }

  /** A host says hello, and a turn follows. */
  join(...hello: Parameters<CoreRig['hello']>): string[] {
    this.hello(...hello);
    return this.turn();
  }

  disconnect(host: Host): void {
    host.connected = false;
    this.cluster.changes.hosts.add(host);
  }

  change(host: Host, changes: HostChanges): string[] {
    changeHost(this.cluster, host, changes);
    return this.turn();
  }

  removeHost(host: Host): string[] {
    removeHost(this.cluster, host, this.nowMs);
    return this.turn();
  }

  /** The host of a service reports on its current start. A turn follows each report. Returns the last one. */
  see(service: Service, ...reports: Seen[]): string[] {
    return reports.map((seen) =>
      this.report(this.hostOf(service), [{ ...seen, ...keyOfService(service) } as Observation]),
    )[reports.length - 1] as string[];
  }

  report(host: Host, observations: readonly Observation[], forgotten: readonly number[] = []): string[] {
    host.lastContactMs = this.nowMs;
    for (const observation of observations) observe(this.cluster, host, observation, this.nowMs);
    for (const service of forgotten) observeForgotten(this.cluster, host, service);
    return this.turn();
  }

  terminate(execution: Execution): string[] {
    requestEnd(this.cluster, execution, this.nowMs);
    return this.turn();
  }

  remove(execution: Execution): string[] {
    if (!this.cluster.executions.has(execution.id)) this.cluster.addExecution(execution);
    requestDeletion(this.cluster, execution, this.nowMs);
    return this.turn();
  }

  turn(): string[] {
    const moment = { nowMs: this.nowMs, monotonicMs: this.nowMs - this.#stepsMs };
    handleClockStep(this.cluster, this.#last, moment);
    this.#last = moment;
    this.decisions = reconcile(this.cluster, this.nowMs);
    const texts = this.decisions.map(decisionText);
    this.decisionLog.push(...texts);
    return texts;
  }

  /** Sets the wall clock, which the monotonic clock shows. */
  step(ms: number): string[] {
    this.nowMs += ms;
    this.#stepsMs += ms;
    return this.turn();
  }

  /** Advances the clock. Connected hosts stay in contact unless `silent`. */
  advance(ms: number, { silent = false } = {}): string[] {
    this.nowMs += ms;
    if (!silent) {
      for (const host of this.cluster.hosts.values()) if (host.connected) host.lastContactMs = this.nowMs;
    }
    return this.turn();
  }

  hostOf(service: Service): Host {
    const host = service.hostId === null ? undefined : this.cluster.hosts.get(service.hostId);
    if (!host) throw new Error(`service ${service.name} has no host`);
    return host;
  }
}

/** A service that monitors, and `side`, which has these changes and does not. */
export const pairWith = (changes: Partial<ServiceDescription>): Application =>
  application(service(), service({ name: 'side', monitor: false, ...changes }));
export const pair = pairWith({});

/** An execution on a rig. Its instances `web0` and `side0`, if it has them, are `web` and `side`. */
export class Life {
  readonly rig: CoreRig;
  readonly execution: Execution;

  constructor(rig: CoreRig, execution: Execution) {
    this.rig = rig;
    this.execution = execution;
  }

  get web(): Service {
    return named(this.execution, 'web0');
  }

  get side(): Service {
    return named(this.execution, 'side0');
  }
}

/** An execution of `description`, placed on one host. */
export function startingRig(description = pair, rig = new CoreRig(), timeLimitS?: number): Life {
  rig.hello(hostFacts('one'));
  return new Life(rig, rig.submitInTurn(description, 1, timeLimitS));
}

export function runningRig(description = pair): Life {
  const life = startingRig(description);
  for (const one of life.execution.services) life.rig.see(one, running);
  if (life.execution.status !== 'running') throw new Error(`the execution is ${life.execution.status}`);
  return life;
}

export const queuedIds = (cluster: Cluster): number[] =>
  cluster.queue.projectedOrder((userId) => cluster.fairShareKey(userId)).map(({ id }) => id);

export const keyOfService = ({ id, generation }: Service) => ({ service: id, generation });

/** One decision as text, such as `start web0.1`. */
export function decisionText(decision: Decision): string {
  const { kind } = decision;
  if ('service' in decision) return `${kind} ${decision.service.name}.${decision.service.generation}`;
  if (decision.kind === 'lose-host' || decision.kind === 'requeue-host')
    return `${kind} ${decision.host.name}`;
  if (decision.kind === 'place')
    return `${kind} ${decision.placements.map(({ service, host }) => `${service.name}@${host.name}`).join(' ')}`;
  return `${kind} ${decision.execution.id}${'ending' in decision ? ` ${decision.ending.status}` : ''}`;
}

export function named({ services }: Execution, name: string): Service {
  const found = services.find((service) => service.name === name);
  if (!found) throw new Error(`no service ${name}`);
  return found;
}
