/** Application descriptions of the benchmarks. */

import { IMAGE } from '../../examples/image.ts';
import type { Application } from '../../shared/application-schema.ts';

/** One service with one container, whose process ends at once on SIGTERM unless `command` differs. */
export function application(command = 'sleep 1000', labels: string[] = []): Application {
  return {
    name: 'bench',
    version: 3,
    will_end: true,
    size: 1,
    services: [
      {
        name: 'worker',
        image: IMAGE,
        monitor: true,
        total_count: 1,
        essential_count: 1,
        startup_order: 0,
        resources: { memory: { min: 64e6, max: 256e6 }, cores: { min: 0.1, max: 2 } },
        environment: [
          ['NAME', '{execution_name}'],
          ['PEER', '{dns_name#worker0}'],
        ],
        volumes: [],
        ports: [],
        command,
        labels,
      },
    ],
  };
}

/** Stays queued, because no host has its label. */
export const queuedApplication = (): Application => application('sleep 1000', ['nowhere']);
