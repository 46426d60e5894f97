/** A container engine in namespaces of its own, which a test can kill without affecting other engines. */
import { NamespacedEngine } from '../cluster/engine.ts';
import { cgroupOf, folderOf, newName, removeAll, removeLeftovers } from '../cluster/leftovers.ts';
import { Namespace } from '../cluster/namespace.ts';
import { ensurePrograms } from '../cluster/programs.ts';

export interface LoneEngine extends Pick<NamespacedEngine, 'docker' | 'dockerHost' | 'start' | 'kill'> {
  /** Kills all its processes and removes its files. */
  end(): Promise<void>;
}

/** The engine has the test image. */
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
