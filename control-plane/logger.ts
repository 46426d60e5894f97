/** Formats log lines: one JSON object each. Callers pass ids and error texts, never secrets. */
import type { Logger } from './coordinator/ports.ts';

export const logTo =
  (write: (line: string) => void): Logger =>
  (event, fields = {}) =>
    write(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
