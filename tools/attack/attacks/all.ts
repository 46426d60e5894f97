/** All attacks, in the order in which they run. Those that cost failed logins come last. */
import type { Attack } from '../attack.ts';
import { agents } from './agents.ts';
import { applications } from './applications.ts';
import { bodies } from './bodies.ts';
import { connections } from './connections.ts';
import { containers } from './containers.ts';
import { hostFolders } from './host-folders.ts';
import { hosts } from './hosts.ts';
import { images } from './images.ts';
import { logins } from './logins.ts';
import { networks } from './networks.ts';
import { queue } from './queue.ts';
import { serviceStreams } from './service-streams.ts';
import { sites } from './sites.ts';
import { eventStreams } from './streams.ts';

export const attacks: readonly Attack[] = [
  ...bodies,
  ...connections,
  ...sites,
  ...queue,
  ...eventStreams,
  ...applications,
  ...serviceStreams,
  ...networks,
  ...containers,
  ...hostFolders,
  ...images,
  ...agents,
  ...hosts,
  ...logins,
];
