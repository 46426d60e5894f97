/** Counts of secrets in one process or isolate: what hosts fetch, and what is stored. */
import { byLabel, counter, type Family, gauge } from './family.ts';

/**
 * `refused`: a value is missing, unreadable or too long. `not-assigned`: the start is not the host's now.
 * `excess`: beyond the allowance of the host. `failed`: for example, no answer of the database.
 */
export type FetchOutcome = 'values' | 'refused' | 'not-assigned' | 'excess' | 'failed';

export class FetchCounts {
  readonly #fetches: Record<FetchOutcome, number> = {
    values: 0,
    refused: 0,
    'not-assigned': 0,
    excess: 0,
    failed: 0,
  };

  count(outcome: FetchOutcome): void {
    this.#fetches[outcome] += 1;
  }

  families(): Family[] {
    return [
      counter(
        'berth_secret_fetches_total',
        'Requests of hosts for the secrets of a start, by outcome.',
        byLabel('outcome', this.#fetches),
      ),
    ];
  }
}

/** What is stored, by kind. */
export interface SecretStock {
  secret: { values: number; bytes: number };
  file: { values: number; bytes: number };
  /** Values of the owner with most, who may be all users together. */
  mostOfOwner: number;
}

export const stockFamilies = ({ secret, file }: SecretStock): Family[] => [
  gauge(
    'berth_secrets',
    'Stored secrets and files, by kind.',
    byLabel('kind', { secret: secret.values, file: file.values }),
  ),
  gauge(
    'berth_secret_bytes',
    'Bytes of their values, by kind.',
    byLabel('kind', { secret: secret.bytes, file: file.bytes }),
  ),
];
