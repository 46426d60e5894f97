/** What the coordinator counts for its metrics, in memory: turns, commits and decisions. Pure. */
import type { Decision } from '../state/decision.ts';
import { byLabel, counter, type Family } from './family.ts';
import { DurationHistogram } from './histogram.ts';

export class CoordinatorCounts {
  readonly turns = new DurationHistogram();
  readonly commits = new DurationHistogram();
  /** How often the state was discarded, to be read again. */
  losses = 0;
  /** The logs whose output passes this process, and the bytes of logs and of streams that have passed. */
  readonly traffic = { open: 0, bytes: 0, toServices: 0, fromServices: 0 };
  readonly #decisions: Record<Decision['kind'], number> = {
    place: 0,
    start: 0,
    'mark-running': 0,
    stop: 0,
    preempt: 0,
    evict: 0,
    'replace-service': 0,
    'begin-cleanup': 0,
    finish: 0,
    forget: 0,
    purge: 0,
    'lose-host': 0,
    'requeue-host': 0,
  };
  #placements = 0;
  #unhealthy = 0;

  decided(decisions: readonly Decision[]): void {
    for (const decision of decisions) {
      this.#decisions[decision.kind] += 1;
      if (decision.kind === 'stop' && decision.service.exit?.unhealthy !== undefined) this.#unhealthy += 1;
      if (decision.kind === 'place') this.#placements += decision.placements.length;
    }
  }

  families(): Family[] {
    return [
      counter('berth_decisions_total', 'Committed decisions, by kind.', byLabel('kind', this.#decisions)),
      counter('berth_placements_total', 'Services that were placed on a host.', this.#placements),
      counter(
        'berth_unhealthy_services_total',
        'Services that were stopped because checks of their health failed.',
        this.#unhealthy,
      ),
      this.turns.family('berth_turn_duration_seconds', 'Turns of the coordinator, with their commits.'),
      this.commits.family('berth_commit_duration_seconds', 'Commits of turns, until the database answered.'),
      counter(
        'berth_state_losses_total',
        'How often the coordinator discarded its state, because a commit failed.',
        this.losses,
      ),
      counter(
        'berth_log_bytes_total',
        'Bytes of output that hosts sent for readers of logs.',
        this.traffic.bytes,
      ),
      counter(
        'berth_stream_bytes_total',
        'Bytes of streams to services and from them.',
        byLabel('direction', { in: this.traffic.toServices, out: this.traffic.fromServices }),
      ),
    ];
  }
}
