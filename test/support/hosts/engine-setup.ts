/** Global set-up of the vitest projects that need an engine. Stops an engine that it had to start. */
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { ensureEngine } from '../../../agent/local/local-engine.ts';
import { terminal } from '../../../agent/local/terminal.ts';
import { ensureImage } from '../../../examples/image.ts';

export default async function setup(): Promise<() => Promise<void>> {
  const engine = await ensureEngine(terminal);
  process.env.DOCKER_HOST = engine.host;
  await ensureImage(connectEngine(engine.host));
  return engine.stop;
}
