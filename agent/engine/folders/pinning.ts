/**
 * Pinning: mounts the very folder that the agent holds open, and finds out whether that works here. The
 * engine's driver for local volumes mounts `/proc/<agent>/fd/<n>` in the engine's own mount namespace, where
 * that name leads to the open folder (CONT-53).
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { MountSettings } from 'dockerode';
import type { AllowedFolder } from './allowed-folders.ts';
import { type Folder, openFolder } from './open-folder.ts';

/**
 * Where the root folder of the engine's host may be. A systemd unit or a container gives the agent a mount
 * namespace of its own. The root is then that of the first process or of the agent's parent. The parent of an
 * agent in a container is the engine's shim; it serves where the first process cannot be inspected.
 */
const ROOTS = ['/', '/proc/1/root', `/proc/${process.ppid}/root`];
const PROBE_TIMEOUT_MS = 20_000;
const PROBED = '/probe';

export type Labels = Record<string, string>;

/**
 * A volume without a name: the engine removes it together with its container. Private, because a folder that
 * the host shares would otherwise be unmounted on the host as well.
 */
export const pinnedMount = (
  handle: NonNullable<Folder['handle']>,
  { target, readOnly }: Pick<AllowedFolder, 'target' | 'readOnly'>,
  labels: Labels,
): MountSettings => ({
  Type: 'volume',
  Source: '',
  Target: target,
  VolumeOptions: {
    NoCopy: true,
    Labels: labels,
    DriverConfig: {
      Name: 'local',
      Options: {
        type: 'none',
        // The engine refuses ReadOnly for a volume without a name.
        o: readOnly ? 'rbind,ro,rprivate' : 'rbind,rprivate',
        device: `/proc/${process.pid}/fd/${handle.fd}`,
      },
    },
  },
});

/**
 * The root folder beneath which folders can be opened and pinned, proved with a container of `image` that is
 * never started. Null if there is none. Throws the engine's errors.
 */
export async function findPinnableRoot(
  docker: Docker,
  image: string,
  labels: Labels,
  notService: Labels,
): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  for (const root of ROOTS)
    if (await canPin(docker, root, labels, { Image: image, Labels: { ...labels, ...notService } }))
      return root;
  return null;
}

/** Makes a folder with a random name in a volume, pins the volume's folder, and looks for that name there. */
async function canPin(
  docker: Docker,
  root: string,
  labels: Labels,
  container: Docker.ContainerCreateOptions,
): Promise<boolean> {
  const name = `berth-probe-${randomBytes(16).toString('hex')}`;
  await docker.createVolume({ Name: name, Driver: 'local', Labels: labels });
  try {
    const { Mountpoint } = await docker.getVolume(name).inspect();
    const folder = await openFolder(root, Mountpoint).catch(() => undefined);
    if (!folder?.handle) return false;
    try {
      const made = await mkdir(`/proc/self/fd/${folder.handle.fd}/${name}`).then(
        () => true,
        () => false,
      );
      if (!made) return false;
      const mount = pinnedMount(folder.handle, { target: PROBED, readOnly: true }, labels);
      return await isThere(docker, { ...container, HostConfig: { Mounts: [mount] } }, name);
    } finally {
      await folder.handle.close();
    }
  } finally {
    await docker.getVolume(name).remove();
  }
}

async function isThere(
  docker: Docker,
  options: Docker.ContainerCreateOptions,
  name: string,
): Promise<boolean> {
  const container = await docker.createContainer({ ...options, NetworkDisabled: true });
  try {
    const abortSignal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
    await container.infoArchive({ path: `${PROBED}/${name}`, abortSignal });
    return true;
  } catch (error) {
    // 404: another folder was mounted. 400 or 500: no folder could be mounted.
    if ((error as { statusCode?: number }).statusCode !== undefined) return false;
    throw error;
  } finally {
    await container.remove({ v: true, force: true });
  }
}
