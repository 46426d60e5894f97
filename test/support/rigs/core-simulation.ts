/**
 * A small cluster for simulations: the core on a rig, model hosts that obey it, and random operations on
 * both, drawn by fast-check. A sequence of operations gives the same run each time.
 */

import type { HostChanges } from '../../../control-plane/core/hosts/drain.ts';
import { removalBlocker } from '../../../control-plane/core/hosts/host-removal.ts';
import { nextDeadline } from '../../../control-plane/core/lifecycle/reconciler.ts';
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import type { SchedulerConfig } from '../../../control-plane/core/model/scheduler-config.ts';
import { isAssigned } from '../../../control-plane/core/model/service.ts';
import type { Decision } from '../../../control-plane/core/state/decision.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { ModelHost, type ServiceScript } from '../agents/model-host.ts';
import { application, needs, service } from '../fixtures/applications.ts';
import { DEFAULT_MEMORY } from '../fixtures/caps.ts';
import { fc } from '../tools/random-cases.ts';
import { CoreRig, keyOfService, quota, user } from './core-rig.ts';

const scripts: readonly ServiceScript[] = [
  ...Array<'well'>(3).fill('well'),
  ...(['exit', 'crash', 'fail', 'fail-for-now', 'vanish'] as const),
];
const index = fc.nat({ max: 30 });
/** There are two users and two quotas. */
const oneOfTwo = (at: number) => 1 + (at % 2);

const weighted = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const caps = fc.record({
  concurrentExecutions: fc.constantFrom(0, 0, 1, 2),
  memoryBytes: fc.constantFrom(0, 0, 30, 65),
  cores: fc.constantFrom(0, 0, 1, 2),
});
const hostChanges = fc.record({
  schedulable: fc.constantFrom(true, true, false),
  force: fc.boolean(),
  labels: fc.constantFrom(undefined, [], ['ssd']),
});
const script = fc.constantFrom(...scripts);
const ms = fc.constantFrom(1, 1_000, 10_000, 100_000);

export const operation = fc.oneof(
  weighted(3, fc.record({ do: fc.constant('submit'), which: index, user: index })),
  weighted(1, fc.record({ do: fc.constant('terminate'), which: index })),
  weighted(1, fc.record({ do: fc.constant('remove'), which: index })),
  weighted(1, fc.record({ do: fc.constant('cap'), quota: index, caps })),
  weighted(1, fc.record({ do: fc.constant('assign'), user: index, quota: index })),
  weighted(12, fc.record({ do: fc.constant('step'), host: index, which: index, script })),
  weighted(8, fc.record({ do: fc.constant('report'), host: index })),
  weighted(3, fc.record({ do: fc.constant('connect'), host: index })),
  weighted(1, fc.record({ do: fc.constant('disconnect'), host: index })),
  weighted(2, fc.record({ do: fc.constant('change-host'), host: index, changes: hostChanges })),
  weighted(1, fc.record({ do: fc.constant('remove-host'), host: index, force: fc.boolean() })),
  weighted(3, fc.record({ do: fc.constant('wait'), ms })),
);
export type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Applications to submit: gangs, start-up orders, elastic services, labels, and one that never fits. */
const applications: readonly Application[] = [
  application(service({ resources: needs(10, 1) })),
  application(service({ total_count: 3, essential_count: 2, resources: needs(30, 0.1, 32) })),
  application(
    service({ name: 'app', startup_order: 2 }),
    service({
      name: 'dbs',
      monitor: false,
      total_count: 2,
      essential_count: 1,
      resources: needs(null, 0.3),
    }),
  ),
  application(
    service({ labels: ['ssd'], resources: needs(60, 1) }),
    service({ name: 'two', monitor: false }),
  ),
  application(service({ resources: needs(1_000, 1) })),
  application(service({ total_count: 9, essential_count: 1, resources: needs(15, 0.5, 20) })),
];

/** Index of the application that can fill all hosts with elastic services. */
export const ELASTIC = 5;

export type Check = (simulation: Simulation, decisions: readonly Decision[]) => void;

export class Simulation {
  readonly rig: CoreRig;
  readonly hosts = [
    new ModelHost('one', { memoryBytes: 100, cores: 2 }),
    new ModelHost('two', { memoryBytes: 50, cores: 3, labels: ['ssd'] }),
  ];
  /** All submitted executions, including ended ones. */
  readonly submitted: Execution[] = [];
  removed = 0;
  readonly #check: Check;

  /** `check` is called after every turn. */
  constructor(check: Check = () => {}, scheduling: Partial<SchedulerConfig> = {}) {
    this.rig = new CoreRig({ defaultMemoryBytes: DEFAULT_MEMORY, ...scheduling });
    this.#check = check;
  }

  run(operations: readonly Operation[]): void {
    for (const one of operations) this.#perform(one);
  }

  #perform(operation: Operation): void {
    const { rig } = this;
    switch (operation.do) {
      case 'submit':
        this.submitted.push(
          rig.submit(applications[operation.which % applications.length], oneOfTwo(operation.user)),
        );
        this.#turn();
        break;
      case 'terminate':
      case 'remove':
        this.#end(operation.do, this.submitted[operation.which % this.submitted.length]);
        break;
      case 'cap':
        rig.cluster.setQuota(quota(oneOfTwo(operation.quota), operation.caps));
        this.#turn();
        break;
      case 'assign':
        rig.cluster.setUser(user(oneOfTwo(operation.user), oneOfTwo(operation.quota)));
        this.#turn();
        break;
      case 'step':
        this.#host(operation.host).step(operation.which, operation.script);
        break;
      case 'report':
        this.#report(this.#host(operation.host));
        break;
      case 'connect':
        this.#connect(this.#host(operation.host));
        break;
      case 'disconnect':
        this.#disconnect(this.#host(operation.host));
        break;
      case 'change-host':
        this.#change(this.#host(operation.host), operation.changes);
        break;
      case 'remove-host':
        this.#removeHost(this.#host(operation.host), operation.force);
        break;
      case 'wait':
        rig.advance(operation.ms);
        this.#turned();
    }
  }

  #change(host: ModelHost, changes: HostChanges): void {
    const known = this.rig.cluster.hostNamed(host.facts.name);
    if (!known) return;
    this.rig.change(known, changes);
    this.#turned();
  }

  /** Nothing runs on the host any more; a host of the same name may join later. */
  #removeHost(host: ModelHost, force: boolean): void {
    const known = this.rig.cluster.hostNamed(host.facts.name);
    if (!known || removalBlocker(this.rig.cluster, known, force) !== null) return;
    host.wipe();
    this.rig.removeHost(known);
    this.#turned();
    this.removed += 1;
  }

  #end(how: 'terminate' | 'remove', execution: Execution | undefined): void {
    if (!execution || execution.deleted) return;
    if (how === 'remove') this.rig.remove(execution);
    else if (this.rig.cluster.executions.has(execution.id)) this.rig.terminate(execution);
    else return;
    this.#turned();
  }

  /** Ends all faults: hosts connect and obey, and time passes. */
  heal(): void {
    for (const host of this.hosts) this.#connect(host);
    for (let round = 0; round < 40; round++) {
      for (const host of this.hosts) {
        for (let which = 0; which < 60; which++) host.step(which, 'well');
        this.#report(host);
      }
      this.rig.advance(60_000);
      this.#turned();
    }
  }

  terminateAll(): void {
    for (const execution of this.submitted) this.#end('terminate', execution);
  }

  #host(at: number): ModelHost {
    return this.hosts[at % this.hosts.length] as ModelHost;
  }

  #connect(host: ModelHost): void {
    host.connected = true;
    const known = this.rig.hello(host.facts, host.inventory());
    this.rig.turn();
    const assigned = [...this.rig.cluster.servicesAt(known.id)].filter(isAssigned).map(keyOfService);
    host.sync(assigned);
    this.#turned(host);
  }

  #disconnect(host: ModelHost): void {
    const known = this.rig.cluster.hostNamed(host.facts.name);
    if (!host.connected || !known) return;
    host.connected = false;
    this.rig.disconnect(known);
    this.#turn();
  }

  #report(host: ModelHost): void {
    const known = this.rig.cluster.hostNamed(host.facts.name);
    if (!host.connected || !known) return;
    const { observations, forgotten } = host.takeReport();
    this.rig.report(known, observations, forgotten);
    this.#turned();
  }

  #turn(): void {
    this.rig.turn();
    this.#turned();
  }

  /** Sends the decisions to the hosts, as the coordinator does; `greeted` has them from its sync. */
  #turned(greeted?: ModelHost): void {
    const { decisions } = this.rig;
    for (const decision of decisions) {
      if (decision.kind === 'lose-host') this.#named(decision.host.name).connected = false;
      if (!('service' in decision) || decision.service.hostId === null) continue;
      const { service } = decision;
      const known = this.rig.cluster.hosts.get(service.hostId ?? 0);
      const host = known && this.#named(known.name);
      if (!host?.connected) continue;
      if (decision.kind === 'forget') host.forget(service.id);
      if (decision.kind === 'start' && isAssigned(service) && host !== greeted)
        host.start(keyOfService(service));
      if (decision.kind === 'stop') host.stop(keyOfService(service));
    }
    this.#check(this, decisions);
  }

  #named(name: string): ModelHost {
    return this.hosts.find(({ facts }) => facts.name === name) as ModelHost;
  }

  get deadline(): number | null {
    return nextDeadline(this.rig.cluster);
  }
}
