/**
 * Convergence check. After the faults, every execution runs, has ended or has a reason to wait. After the
 * deletion of everything, no machine has a container, start mark or log left.
 */
import type { Row } from '../../../../control-plane/store/db/db.ts';
import type { Machine } from '../machine/machine.ts';
import type { Link } from '../world/network.ts';
import type { World } from '../world/time.ts';
import type { AcknowledgementCheck } from './acknowledgements.ts';
import type { ContainerCheck } from './containers.ts';
import type { Ledger } from './ledger.ts';
import type { LifecycleCheck } from './lifecycle.ts';
import type { LogCheck } from './logs.ts';
import type { ProgressCheck } from './progress.ts';

/** For the turn that decides it. */
const SLACK_MS = 1_000;

export interface ConvergenceOptions {
  world: World;
  ledger: Ledger;
  acknowledgements: AcknowledgementCheck;
  containers: ContainerCheck;
  lifecycle: LifecycleCheck;
  logs: LogCheck;
  progress: ProgressCheck;
  machines: readonly Machine[];
  links: ReadonlySet<Link>;
}

export class ConvergenceCheck {
  readonly #options: ConvergenceOptions;

  constructor(options: ConvergenceOptions) {
    this.#options = options;
  }

  /** Drained hosts. A drain that was requested earlier may take effect late. */
  drained(): Machine[] {
    const { ledger, machines } = this.#options;
    return machines.filter(({ hostId }) => ledger.hosts.get(hostId)?.schedulable === 0);
  }

  /** What is not yet as it must be once the faults have stopped. */
  unsettled(): string[] {
    const { ledger, acknowledgements, containers, machines, links } = this.#options;
    const executions = [...ledger.executions.values()];
    const disconnected = machines.filter(
      ({ agent, name }) => !agent || ![...links].some((link) => link.machine === name),
    );
    const transient = executions.filter(({ status }) => status === 'starting' || status === 'cleaning up');
    return [
      ...containers.unsettled(),
      ...acknowledgements.unsettled(),
      ...machines.flatMap(({ hostId, name }) =>
        ledger.hosts.get(hostId)?.silent_since_ms === null ? [] : [`host ${name} counts as silent`],
      ),
      ...executions.flatMap((one) =>
        this.#isOverdue(one) ? [`execution ${one.id} exceeds its time limit`] : [],
      ),
      ...transient.map(({ id, status }) => `execution ${id} is ${status}`),
      ...disconnected.map(({ name }) => `host ${name} is not connected`),
      ...this.drained().map(({ name }) => `host ${name} is drained`),
      ...executions.flatMap(({ id, status }) =>
        status === 'queued' && this.#fits(Number(id)) ? [`execution ${id} is queued`] : [],
      ),
      ...this.#options.progress.stuck(),
      ...containers.missingForeign(),
    ];
  }

  /** True if the end by the time limit (C270) should have been decided. */
  #isOverdue({ status, time_limit_s, time_place_ms }: Row): boolean {
    if (status !== 'starting' && status !== 'running') return false;
    if (time_limit_s === null || time_place_ms === null) return false;
    return Number(time_place_ms) + Number(time_limit_s) * 1_000 + SLACK_MS < this.#options.world.nowMs;
  }

  /** What is left after every execution was terminated or deleted. */
  remains(after: 'terminate' | 'remove'): string[] {
    const { ledger, containers } = this.#options;
    const isLeft =
      after === 'remove' ? () => true : (status: unknown) => status !== 'terminated' && status !== 'error';
    return [
      ...containers.unsettled(),
      ...[...ledger.executions.values()].flatMap(({ id, status }) =>
        isLeft(status) ? [`execution ${id} is ${status}`] : [],
      ),
      ...(after === 'remove' ? this.#leftovers() : []),
    ];
  }

  /** True if the execution certainly fits: no service is placed, and no quota is in the way. */
  #fits(id: number): boolean {
    const { ledger } = this.#options;
    if ([...ledger.services.values()].some((one) => one.placed === 1)) return false;
    const demands = ledger.gangDemands(id);
    const memory = demands.reduce((sum, one) => sum + one.memory, 0);
    const cores = demands.reduce((sum, one) => sum + one.cores, 0);
    const limits = demands.reduce((sum, one) => sum + one.limit, 0);
    const quota = ledger.quotas.get(
      Number(ledger.users.get(Number(ledger.executions.get(id)?.user_id))?.quota_id),
    );
    const isBeyond = (cap: unknown, demand: number) => Number(cap) > 0 && demand > Number(cap);
    if (isBeyond(quota?.memory, limits) || isBeyond(quota?.cores, cores)) return false;
    return [...ledger.hosts.values()].some(
      (host) =>
        host.removed_ms === null &&
        memory <= Number(host.memory_bytes) &&
        cores <= Number(host.cores) &&
        demands.every(({ labels }) => labels.every((label) => String(host.labels).includes(label))),
    );
  }

  /** Containers, start marks and logs of Berth on all machines. */
  #leftovers(): string[] {
    return this.#options.machines.flatMap(({ disk, engine, name, twoAgentsUntilMs }) => [
      ...[...engine.containers.values()].flatMap(({ id, key }) => (key ? [`container ${id}`] : [])),
      ...disk
        .beneath(`/${name}/agent`, true)
        // The next agent to start on this machine removes the start marks that a second agent left.
        .filter((path) => twoAgentsUntilMs === 0 || path.endsWith('.log'))
        .filter((path) => path.includes('.') && !path.endsWith('/lease.json') && !this.#mayRemain(path))
        .map((path) => `${name}: ${path}`),
    ]);
  }

  /**
   * Logs and proofs of ids on a service's earlier hosts stay until they are too old, as do those that two
   * agents left.
   */
  #mayRemain(path: string): boolean {
    const [, service, generation] = /\/(\d+)\/(?:(\d+)\.(?:log|lost)|.*\.ids)$/.exec(path) ?? [];
    const { lifecycle, logs } = this.#options;
    if (lifecycle.moved.has(Number(service)) || logs.lost.has(Number(service))) return true;
    if (generation === undefined) return [...logs.waived].some((key) => key.startsWith(`${service}.`));
    return logs.waived.has(`${service}.${generation}`);
  }
}
