/**
 * Writes the agent's log: one JSON object per line. Callers must never pass values of environments or tokens.
 */

export type Logger = (event: string, fields?: Record<string, string | number | boolean | null>) => void;

export function jsonLogger(out: { write(text: string): unknown }, nowMs: () => number): Logger {
  return (event, fields) => {
    out.write(`${JSON.stringify({ time: new Date(nowMs()).toISOString(), event, ...fields })}\n`);
  };
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
