/** Owns an engine of a test's own, alone in namespaces of its own, which may be killed while all others go on. */
import { NamespacedEngine } from '../cluster/engine.ts';
import { cgroupOf, folderOf, newName, removeAll, removeLeftovers } from '../cluster/leftovers.ts';
import { Namespace } from '../cluster/namespace.ts';
import { ensurePrograms } from '../cluster/programs.ts';

export interface LoneEngine extends Pick<NamespacedEngine, 'docker' | 'dockerHost' | 'start' | 'kill'> {
  /** Kills all and removes what it had on disk. */
  end(): Promise<void>;
}

/** With the image of the tests. */
export async function startLoneEngine(): Promise<LoneEngine> {
  await ensurePrograms();
  await removeLeftovers();
  const name = await newName();
  const namespace = await Namespace.make();
  const engine = new NamespacedEngine(namespace, folderOf(name), cgroupOf(name));
  const end = async () => {
    await namespace.end();
    await removeAll(name);
  };
  try {
    await engine.start();
    await engine.loadImage();
    return Object.assign(engine, { end });
  } catch (error) {
    await end();
    throw error;
  }
}
