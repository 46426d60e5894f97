/** Metrics of this Node process: memory, processor time, and how late its event loop is. */
import { getHeapStatistics } from 'node:v8';
import { counter, type Family, gauge } from '../core/metrics/family.ts';
import { DurationHistogram } from '../core/metrics/histogram.ts';

const SAMPLE_MS = 50;

/**
 * How late timers run. Node's own histogram of this (`monitorEventLoopDelay`) has quantiles since its start
 * instead of buckets, so Prometheus could neither take a rate of it nor add up several processes.
 */
export class EventLoopDelay {
  readonly #delays = new DurationHistogram();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let dueMs = performance.now() + SAMPLE_MS;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      this.#delays.add(Math.max(0, nowMs - dueMs));
      dueMs = nowMs + SAMPLE_MS;
    }, SAMPLE_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  family(): Family {
    return this.#delays.family('berth_event_loop_delay_seconds', 'How late timers of the event loop run.');
  }
}

export function processFamilies(): Family[] {
  const { used_heap_size, total_heap_size, heap_size_limit } = getHeapStatistics();
  const { user, system } = process.cpuUsage();
  return [
    gauge('berth_heap_used_bytes', 'Heap of JavaScript in use, with garbage.', used_heap_size),
    gauge('berth_heap_bytes', 'Heap of JavaScript that is reserved.', total_heap_size),
    gauge('berth_heap_limit_bytes', 'Beyond it the process ends.', heap_size_limit),
    gauge('process_resident_memory_bytes', 'Resident memory size in bytes.', process.memoryUsage.rss()),
    counter(
      'process_cpu_seconds_total',
      'Total user and system CPU time spent in seconds.',
      (user + system) / 1e6,
    ),
    gauge(
      'process_start_time_seconds',
      'Start time of the process since unix epoch in seconds.',
      performance.timeOrigin / 1_000,
    ),
  ];
}
