/** Application descriptions of the benchmarks. */
import type { Application } from '../../shared/application-schema.ts';
import * as described from '../../test/support/fixtures/descriptions.ts';

/** One service with one container, whose process ends at once on SIGTERM unless `command` differs. */
export const application = (command = 'sleep 1000', labels: string[] = []): Application => ({
  ...described.application(
    described.service({
      name: 'worker',
      resources: { memory: { min: 64e6, max: 256e6 }, cores: { min: 0.1, max: 2 } },
      environment: [
        ['NAME', '{execution_name}'],
        ['PEER', '{dns_name#worker0}'],
      ],
      command,
      labels,
    }),
  ),
  name: 'bench',
});

/** Stays queued, because no host has its label. */
export const queuedApplication = (): Application => application('sleep 1000', ['nowhere']);
