/** Output limit: removes the oldest output of services that have written too much (P121). */
import type { Container, Engine } from '../engine/engine.ts';
import type { OutputStore } from '../logs/output-store.ts';
import { openPath } from '../logs/stored-files.ts';
import type { Agent } from './agent.ts';

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

/**
 * Ends a service at once, for the sake of the disk (P145): kills its container, and removes its oldest output
 * beyond `keptBytes`.
 */
export async function endForDisk(
  { agent, engine, output }: { agent: Agent; engine: Pick<Engine, 'kill'>; output: OutputStore },
  container: Container,
  reason: string,
  keptBytes: number,
): Promise<void> {
  agent.end(container, reason);
  await engine.kill(container.id);
  const file = await output.open(container);
  if (file) await output.retention.limit(container, openPath(file), keptBytes);
  await file?.close();
}
