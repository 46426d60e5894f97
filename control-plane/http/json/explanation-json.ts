/** JSON of explanations: why an execution is queued. */
import type { Explanation, Reason } from '../../core/views/explanation.ts';
import type { Words } from '../words.ts';
import { secondsOf } from './render.ts';
import type { ExplanationJson } from './schemas.ts';

/**
 * Memory in bytes, times in seconds since the epoch. Fields that do not apply to a filter or state are null.
 */
export const explanationJson = (explanation: Explanation, words: Words): ExplanationJson => ({
  status: explanation.status && words.statusOf(explanation.status),
  summary: explanation.summary,
  position: explanation.position,
  queue_length: explanation.queueLength,
  waiting_for: explanation.waitingFor,
  reasons: explanation.reasons.map(reasonJson),
  quota: explanation.quota,
  demand: explanation.demand && {
    memory: explanation.demand.memoryBytes,
    cores: explanation.demand.cores,
    memory_limit: explanation.demand.limitBytes,
  },
  backfill_reserved_for: explanation.backfillReservedFor,
  retry_at: secondsOf(explanation.retryAtMs),
  fits_when_idle: explanation.fitsWhenIdle,
  placement: explanation.placement,
});

const reasonJson = (reason: Reason): ExplanationJson['reasons'][number] => ({
  instance: reason.instance,
  instances: reason.instances,
  filter: reason.filter,
  hosts: reason.hosts,
  of_hosts: reason.of,
  missing: reason.missing ?? null,
  largest: reason.largest ?? null,
  labels: reason.labels ?? null,
  text: reason.text,
});
