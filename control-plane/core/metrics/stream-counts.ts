/** Counts of streams to services: those that were opened, and those that were refused. Pure. */
import { byLabel, counter, type Family } from './family.ts';

/** A bound that is reached, or why nothing can be reached. */
export const streamRefusals = [
  'access',
  'user',
  'service',
  'host',
  'total',
  'stopped',
  'unreachable',
] as const;
export type StreamRefusal = (typeof streamRefusals)[number];

export class StreamCounts {
  opened = 0;
  readonly #refused = Object.fromEntries(streamRefusals.map((reason) => [reason, 0])) as Record<
    StreamRefusal,
    number
  >;

  refused(reason: StreamRefusal): void {
    this.#refused[reason] += 1;
  }

  families(): Family[] {
    return [
      counter('berth_streams_opened_total', 'Streams to services that were opened.', this.opened),
      counter(
        'berth_streams_refused_total',
        'Streams to services that were refused, by the bound that was reached or another reason.',
        byLabel('reason', this.#refused),
      ),
    ];
  }
}
