/**
 * Agents that send pulses report only when something changes (P179). If somebody looks at hosts, those report
 * that were not heard for a report period.
 */
import { reportPeriodMs } from '../../core/model/host.ts';
import type { Cluster } from '../../core/state/cluster.ts';
import type { Clock } from '../ports.ts';
import type { Turns } from '../turns.ts';

/** What has not arrived by then is seen by whoever looks next. */
const WAIT_MS = 300;

interface Session {
  readonly hostId: number;
  readonly isWatched: boolean;
  requestReport(): void;
}

export class FreshReports {
  readonly #turns: Turns;
  readonly #clock: Pick<Clock, 'after'>;
  /** By host id. */
  readonly #sessions: ReadonlyMap<number, Session>;
  /** When each session was last asked: one that never answers must not delay everybody who looks. */
  readonly #askedMs = new WeakMap<Session, number>();
  #missing = new Set<Session>();
  #complete: () => void = () => {};
  #pending: Promise<void> | undefined;

  constructor(turns: Turns, clock: Pick<Clock, 'after'>, sessions: ReadonlyMap<number, Session>) {
    this.#turns = turns;
    this.#clock = clock;
    this.#sessions = sessions;
  }

  /** Resolves once all reports are fresh, or have taken too long. All who ask meanwhile share the reports. */
  async request(): Promise<void> {
    if (this.#watched().length === 0) return;
    this.#pending ??= this.#request().finally(() => {
      this.#pending = undefined;
    });
    await this.#pending;
  }

  /** A report of this session is committed. */
  reported(session: Session): void {
    if (this.#missing.delete(session) && this.#missing.size === 0) this.#complete();
  }

  async #request(): Promise<void> {
    const stale = await this.#turns.query((cluster, nowMs) => this.#stale(cluster, nowMs));
    if (stale.length === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(WAIT_MS, resolve);
      this.#missing = new Set(stale);
      this.#complete = () => {
        cancel();
        resolve();
      };
      for (const session of stale) session.requestReport();
    });
  }

  #stale({ hosts, schedulerConfig }: Cluster, nowMs: number): Session[] {
    const oldestMs = nowMs - reportPeriodMs(schedulerConfig.lostAfterMs);
    const isOld = (timeMs: number) => timeMs < oldestMs || timeMs > nowMs;
    const stale = this.#watched().filter(
      (session) =>
        isOld(hosts.get(session.hostId)?.heardMs ?? nowMs) &&
        isOld(this.#askedMs.get(session) ?? Number.NEGATIVE_INFINITY),
    );
    for (const session of stale) this.#askedMs.set(session, nowMs);
    return stale;
  }

  #watched(): Session[] {
    return [...this.#sessions.values()].filter(({ isWatched }) => isWatched);
  }
}
