/** Owns the form of log lines: one JSON object each. Its callers pass ids and texts of errors, never secrets. */
import type { Logger } from './coordinator/ports.ts';

export const logTo =
  (write: (line: string) => void): Logger =>
  (event, fields = {}) =>
    write(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
