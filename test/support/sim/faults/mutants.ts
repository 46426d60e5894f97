/** Mutants: single-line changes of the sources that the checks of the simulation must find. */
import type { FaultName } from './fault-names.ts';

export interface Mutant {
  name: string;
  file: string;
  from: string;
  to: string;
  /** Faults that reveal the mutant. Every run of the search for it includes these faults. */
  faults?: readonly FaultName[];
}

/** Applies the mutant to the source. Throws if the line does not occur exactly once. */
export function mutate(source: string, { name, file, from, to }: Mutant): string {
  const parts = source.split(from);
  if (parts.length === 2) return parts.join(to);
  const found = parts.length === 1 ? 'does not occur' : `occurs ${parts.length - 1} times`;
  throw new Error(
    `the mutant "${name}" does not apply: its line ${found} in ${file}; update it in test/support/sim/faults/mutants.ts`,
  );
}

const turns = 'control-plane/coordinator/turns.ts';
const agents = 'control-plane/coordinator/agents/agents.ts';
const agreement = 'control-plane/core/hosts/agreement.ts';
const observe = 'control-plane/core/lifecycle/observations.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'answer and send before committing',
    file: turns,
    from: '      await commit(this.#db, state.epoch, state.cluster.takeChanges());',
    to: '      { const c = state.cluster; const d = decisions; callAll([...accepted.map((input) => () => input.done?.(c, nowMs)), () => this.#events.committed(d, c)]); accepted = []; decisions = []; } await commit(this.#db, state.epoch, state.cluster.takeChanges());',
  },
  {
    name: 'retain the state after a failed commit',
    file: turns,
    from: '    this.#state = undefined;\n    this.#hasUncommittedChanges',
    to: '    this.#hasUncommittedChanges',
  },
  {
    name: 'retain the agent sessions after a failed commit',
    file: turns,
    from: '    const fault = callAll([...callbacks, () => this.#events.lost(this.#retired)]);',
    to: '    const fault = callAll(callbacks);',
    faults: ['commit refused', 'commit applied but reported as failed', 'database unavailable'],
  },
  {
    name: 'commit without fencing the epoch',
    file: 'control-plane/store/cluster/cluster-rows.ts',
    from: '  await db.batch([fence(epoch), ...statements]);',
    to: '  await db.batch(statements);',
  },
  {
    name: 'acknowledge reports on arrival',
    file: agents,
    from: '  report(session: AgentSession, report: Report): void {',
    to: '  report(session: AgentSession, report: Report): void { session.acknowledge(report.sequence, this.#clock.nowMs());',
  },
  {
    name: 'count the reports of a superseded session',
    file: agents,
    from: 'if (!host || this.#sessions.get(host.id) !== session || this.#joining.has(host.id)) return;',
    to: 'if (!host) return;',
    faults: ['agent superseded by another protocol version'],
  },
  {
    name: 'accept an assignment of the same generation again',
    file: 'agent/services/agent.ts',
    from: '(tracked.assignment?.generation ?? 0) >= assignment.generation',
    to: '(tracked.assignment?.generation ?? 0) > assignment.generation',
    faults: ['start fails during a reconnect'],
  },
  {
    name: 'never clear the sessions that received a sync',
    file: agents,
    from: '    this.#welcomed.clear();',
    to: '',
  },
  {
    name: 'do not send stops',
    file: agents,
    from: "if (decision.kind === 'stop') session.stop(",
    to: "if (decision.kind === 'stop') void (",
  },
  {
    name: 'treat services missing from a hello as still present',
    file: observe,
    from: '    if (missing && seen) {',
    to: '    if (missing && seen && false) {',
  },
  {
    name: 'do not subtract the capacity of a placed service',
    file: 'control-plane/core/scheduling/gang-placement.ts',
    from: '    hostIndex.assume(host, service.requirement, -1);',
    to: '',
  },
  {
    name: 'ignore the quota',
    file: 'control-plane/core/state/cluster.ts',
    from: '    return exceededLimits(this.quotaOf(userId), used, wanted);',
    to: '    return [];',
  },
  {
    name: 'count reservations under the quota instead of memory limits',
    file: 'control-plane/core/accounts/quota.ts',
    from: 'sign * times * memoryLimitOf(requirement, defaultMemoryBytes)',
    to: 'sign * times * requirement.memoryBytes',
  },
  {
    name: 'let a retry win over a termination',
    file: 'control-plane/core/lifecycle/state-transitions.ts',
    from: "(execution.ending && execution.ending.status !== 'queued')",
    to: 'execution.ending',
  },
  {
    name: 'keep services that a sync does not list',
    file: 'agent/services/agent.ts',
    from: '    this.#registry.unassignAllExcept(wanted);',
    to: '',
  },
  {
    name: 'remove a container before its output is complete',
    file: 'agent/services/plan.ts',
    from: "  const unsaved = container.state === 'exited' && view.output(container.id) !== 'complete';",
    to: '  const unsaved = false;',
  },
  {
    name: 'send logs without credit',
    file: 'agent/logs/log-reader.ts',
    from: 'Math.min(LOG_CHUNK_BYTES, this.#credit)',
    to: 'LOG_CHUNK_BYTES',
  },
  {
    name: 'end a log stream while its container runs',
    file: 'agent/connection/log-streams.ts',
    from: 'isLive: () => this.#options.mayWrite(key),',
    to: 'isLive: () => false,',
  },
  {
    name: 'reopen a log at offset 0 after a reconnect',
    file: 'control-plane/coordinator/streams/log-relay.ts',
    from: 'session.openLog(key, this.#offset,',
    to: 'session.openLog(key, 0,',
  },
  {
    name: 'do not detect a silent peer in the agent',
    file: 'agent/connection/socket.ts',
    from: 'if (unansweredPings >= 3 || nowMs() - heardMs > 3 * pingMs) {',
    to: 'if (false) {',
  },
  {
    name: 'place a part of a gang',
    file: 'control-plane/core/scheduling/gang-placement.ts',
    from: 'placements.length === services.length ? placements : null',
    to: 'placements.length > 0 ? placements : null',
  },
  {
    name: 'start a service before departing containers are gone',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: 'if (hostId === null || cluster.hasDepartingContainers(hostId)) continue;',
    to: 'if (hostId === null) continue;',
  },
  {
    name: 'purge an execution before its logs are removed',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: "  return withLogs.length === 0 ? { kind: 'purge', execution } : null;",
    to: "  return { kind: 'purge', execution };",
  },
  {
    name: 'finish an execution before its containers are gone',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: "    const clean = execution.services.every(({ status }) => status === 'inactive');",
    to: '    const clean = true;',
  },
  {
    name: 'accept reports on any generation',
    file: observe,
    from: 'service.hostId !== host.id || service.generation !== observation.generation) return;',
    to: 'service.hostId !== host.id) return;',
  },
  {
    name: 'do not resend reports after a reconnect',
    file: 'agent/services/reporter.ts',
    from: '      pending.sequence = this.#sequence;',
    to: '      pending.sequence = this.#sequence; pending.acknowledged = true;',
  },
  {
    name: 'acknowledge a termination and ignore it',
    file: 'control-plane/coordinator/coordinator.ts',
    from: '      requestEnd(cluster, execution, nowMs);',
    to: '',
  },
  {
    name: 'restart services elsewhere before the lease expires',
    file: 'control-plane/core/hosts/host-liveness.ts',
    from: '  return silentSinceMs + leaseMs + LEASE_MARGIN_MS;',
    to: '  return silentSinceMs;',
  },
  {
    name: 'stop nothing when the lease expires',
    file: 'agent/services/lease.ts',
    from: '    this.#options.onExpired(record.unknown);',
    to: '',
  },
  {
    name: 'do not read the lease file on start',
    file: 'agent/services/lease.ts',
    from: '    this.#record = read(options.file);',
    to: '',
    faults: ['host partitioned', 'agent killed'],
  },
  {
    name: 'keep start marks of services that were given up',
    file: 'agent/services/agent.ts',
    from: '    if (!tracked || tracked.conclude(key)) this',
    to: '    if (tracked?.conclude(key) && tracked.assignment) this',
  },
  {
    name: 'place on drained hosts',
    file: 'control-plane/core/scheduling/host-filters.ts',
    from: 'isReachable(host) && host.schedulable && !blockingConditionOf(host);',
    to: 'isReachable(host) && !blockingConditionOf(host);',
  },
  {
    name: 'keep elastic services on drained hosts',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: 'cluster.hosts.get(service.hostId ?? 0)?.schedulable === false;',
    to: 'false;',
  },
  {
    name: 'remove connected hosts that have services',
    file: 'control-plane/core/hosts/host-removal.ts',
    from: '  if (left === 0 || host.lost || (force && !isReachable(host))) return null;',
    to: '  if (left >= 0) return null;',
  },
  {
    name: 'leave containers running on a removed host',
    file: 'agent/services/decommission.ts',
    from: '  agent.sync([]);',
    to: '  return true;',
  },
  {
    name: 'end a log stream that another coordinator continues',
    file: 'control-plane/coordinator/streams/logs.ts',
    from: '    if (!stored.hasEnded) {',
    to: '    if (false) {',
    faults: ['second control plane'],
  },
  {
    name: 'restart services elsewhere as soon as the clock steps forward',
    file: 'control-plane/core/lifecycle/reconciler.ts',
    from: '    if (host.lost && missedItsDeadline(cluster, host, nowMs)) restartTimeout',
    to: '    if (false) restartTimeout',
    faults: ['clock jumps after a host is lost'],
  },
  {
    name: 'admit executions beyond the bounds of the queue',
    file: 'control-plane/core/lifecycle/admission.ts',
    from: '  if (problem !== null) throw',
    to: '  if (false) throw',
    faults: ['a user floods the queue'],
  },
  {
    name: 'place instances beyond the bound',
    file: 'control-plane/core/scheduling/scheduler-state.ts',
    from: '  return over > 0 ?',
    to: '  return false ?',
    faults: ['a user floods the queue'],
  },
  {
    name: 'accept proofs of other ids',
    file: 'control-plane/core/lifecycle/restored-database.ts',
    from: '  const proofs = idProofs.filter(isProof);',
    to: '  const proofs = idProofs;',
    faults: ['hostile messages from an agent'],
  },
  {
    name: 'skip any number of ids without a proof',
    file: 'control-plane/core/lifecycle/restored-database.ts',
    from: '    if (total > cluster.schedulerConfig.bounds.unprovenIds) return false;',
    to: '',
    faults: ['hostile messages from an agent'],
  },
  {
    name: 'give a host every label that it offers',
    file: agreement,
    from: '  const agentLabels = offer.labels.filter((label) => agreedLabels.has(label));',
    to: '  const agentLabels = offer.labels.filter((label) => agreedLabels.has(label) || true);',
    faults: ['hostile messages from an agent'],
  },
  {
    name: 'take the memory of a host as it offers it',
    file: agreement,
    from: '  host.memoryBytes = Math.min(offer.memoryBytes, agreed.memoryBytes);',
    to: '  host.memoryBytes = offer.memoryBytes;',
    faults: ['hostile messages from an agent'],
  },
  {
    name: 'agree to what a later hello offers',
    file: agreement,
    from: '  host.agreed = agreed;',
    to: '  host.agreed = offer;',
    faults: ['hostile messages from an agent'],
  },
];
