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

/** What streams are opened for, by the actions of the audit log. */
const purposes = {
  'exec-service': 'exec',
  'forward-port': 'forward',
  'copy-files': 'copy',
  'use-app': 'application',
} as const;
type StreamPurpose = (typeof purposes)[keyof typeof purposes];

const zeros = <Label extends string>(labels: readonly Label[]) =>
  Object.fromEntries(labels.map((label) => [label, 0])) as Record<Label, number>;

export class StreamCounts {
  readonly #opened: Record<StreamPurpose, number> = zeros(Object.values(purposes));
  readonly #refused: Record<StreamRefusal, number> = zeros(streamRefusals);

  /** `action`: of its entry in the audit log. */
  opened(action: string): void {
    if (Object.hasOwn(purposes, action)) this.#opened[purposes[action as keyof typeof purposes]] += 1;
  }

  refused(reason: StreamRefusal): void {
    this.#refused[reason] += 1;
  }

  families(): Family[] {
    return [
      counter(
        'berth_streams_opened_total',
        'Streams to services that were opened, by what for.',
        byLabel('purpose', this.#opened),
      ),
      counter(
        'berth_streams_refused_total',
        'Streams to services that were refused, by the bound that was reached or another reason.',
        byLabel('reason', this.#refused),
      ),
    ];
  }
}
