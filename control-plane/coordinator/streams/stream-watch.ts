/** Ends a stream that carries nothing for too long, or that lasts for too long (H689). */
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { Clock } from '../ports.ts';

export class StreamWatch {
  readonly #clock: Pick<Clock, 'after' | 'monotonicMs'>;
  readonly #rules: Pick<StreamRules, 'idleMs' | 'totalMs'>;
  readonly #end: (reason: string) => void;
  #lastByteMs: number;
  #cancelIdle = () => {};
  #cancelTotal = () => {};

  constructor(
    clock: Pick<Clock, 'after' | 'monotonicMs'>,
    rules: Pick<StreamRules, 'idleMs' | 'totalMs'>,
    end: (reason: string) => void,
  ) {
    this.#clock = clock;
    this.#rules = rules;
    this.#end = end;
    this.#lastByteMs = clock.monotonicMs();
  }

  begin(): void {
    const { totalMs } = this.#rules;
    this.#cancelTotal = this.#clock.after(totalMs, () =>
      this.#end(`The stream has lasted for ${totalMs / 1_000} s, which is the most.`),
    );
    this.#look();
  }

  /** Bytes have passed, in either direction. */
  carried(): void {
    this.#lastByteMs = this.#clock.monotonicMs();
  }

  stop(): void {
    this.#cancelIdle();
    this.#cancelTotal();
  }

  #look(): void {
    const { idleMs } = this.#rules;
    const leftMs = this.#lastByteMs + idleMs - this.#clock.monotonicMs();
    if (leftMs > 0) this.#cancelIdle = this.#clock.after(leftMs, () => this.#look());
    else this.#end(`The stream carried nothing for ${idleMs / 1_000} s, which is the most.`);
  }
}
