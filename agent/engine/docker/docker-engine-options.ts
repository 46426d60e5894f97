/** What the settings of an agent say about its engine. */
import type { MountRules } from '../folders/allowed-folders.ts';
import type { RunAs } from '../folders/container-user.ts';
import type { ImageRecordOptions } from '../images/image-record.ts';
import type { NetworkOptions } from '../networks/container-networks.ts';
import type { PullOptions } from '../pulls/pulls.ts';
import type { ContainerSettings } from './container-settings.ts';

export interface DockerEngineOptions extends MountRules, NetworkOptions, ContainerSettings {
  /** Name of this host. */
  host: string;
  /** Memory withheld from a container without a limit, on a machine of this size. */
  reservedOf(totalBytes: number): number;
  /** Most bytes of one container's output at an engine whose files are out of reach. */
  logMaxBytes: number;
  /** The user of a container with host folders. */
  runAs: RunAs;
  /** How long the engine may take to list its containers. Default: 20 s. */
  listMs?: number;
  pull: PullOptions;
  images: ImageRecordOptions;
  /** The file of the pulls with credentials that have begun (P236). */
  intentsFile: string;
}
