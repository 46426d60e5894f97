/** Output limit: removes the oldest output of services that have written too much (P121). */
import type { ServiceKey } from '../../shared/protocol/assignment.ts';
import type { OutputStore } from '../logs/output-store.ts';
import { openPath } from '../logs/stored-files.ts';

/** Runs one round at a time. Returns a function that ends them. */
export function startOutputLimit(output: Pick<OutputStore, 'limit'>, everyMs: number): () => void {
  let isRunning = false;
  const round = async () => {
    if (isRunning) return;
    isRunning = true;
    await output.limit();
    isRunning = false;
  };
  const timer = setInterval(() => void round(), everyMs);
  return () => clearInterval(timer);
}

/** Removes the oldest output of an ended start beyond `maxBytes`, for the sake of the disk (P145). */
export async function shortenOutput(output: OutputStore, key: ServiceKey, maxBytes: number): Promise<void> {
  const file = await output.open(key);
  if (file) await output.retention.limit(key, openPath(file), maxBytes);
  await file?.close();
}
