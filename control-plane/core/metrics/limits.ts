/** Metrics of bounds, and of how far each is reached. Pure. */
import { type Family, gauge, type Labels } from './family.ts';

export interface Limit {
  name: string;
  /** The setting that changes it; absent if none does. */
  setting?: string;
  unit?: 'bytes';
  used: number;
  limit: number;
}

export function limitFamilies(limits: readonly Limit[]): Family[] {
  const samples = (unit: Limit['unit'], of: 'used' | 'limit') =>
    limits.flatMap((one) => (one.unit === unit ? [{ labels: labelsOf(one), value: one[of] }] : []));
  return [
    gauge('berth_limit', 'Bounds on numbers, by the setting that changes them.', samples(undefined, 'limit')),
    gauge('berth_limit_used', 'How much of these bounds is used.', samples(undefined, 'used')),
    gauge(
      'berth_limit_bytes',
      'Bounds on memory, by the setting that changes them.',
      samples('bytes', 'limit'),
    ),
    gauge('berth_limit_used_bytes', 'How much of these bounds is used.', samples('bytes', 'used')),
  ];
}

const labelsOf = ({ name, setting = '' }: Limit): Labels => ({ name, setting });
