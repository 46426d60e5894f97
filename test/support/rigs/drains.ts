/** Clusters of small hosts with running executions, for tests of drained and removed hosts. */
import type { HostChanges } from '../../../control-plane/core/hosts/drain.ts';
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import type { Host } from '../../../control-plane/core/model/host.ts';
import type { Application } from '../../../shared/application-schema.ts';
import { application, needs, service } from '../fixtures/applications.ts';
import { CoreRig, hostFacts, running } from './core-rig.ts';

export const FORCE: HostChanges = { schedulable: false, force: true };

const WORK = { name: 'work', monitor: false, essential_count: 0, resources: needs(null, 1) };

/** A monitor and a side service of one core each, and elastic workers of one core each. */
export const mixed = (workers = 0): Application =>
  application(
    service({ name: 'main', resources: needs(null, 1) }),
    service({ name: 'side', monitor: false, resources: needs(null, 1) }),
    ...(workers > 0 ? [service({ ...WORK, total_count: workers })] : []),
  );

/** A rig with a host for each number of cores: `host0`, `host1` and so on. */
export function rigWith<Cores extends number[]>(...cores: Cores) {
  const rig = new CoreRig({ placementPolicy: 'waterfill' });
  const joined = cores.map((each, at) => rig.hello(hostFacts(`host${at}`, { cores: each })));
  const hosts = joined as { [At in keyof Cores]: Host };
  rig.turn();
  return { rig, hosts };
}

/** Submits an execution, and reports everything that is placed of it as running. */
export function run(rig: CoreRig, description = mixed()): Execution {
  const execution = rig.submitInTurn(description);
  for (let round = 0; round < 2; round++) {
    for (const one of execution.services) if (one.status === 'starting') rig.see(one, running);
  }
  if (execution.status !== 'running') throw new Error(`the execution is ${execution.status}`);
  return execution;
}

/** What a turn decides once the first execution has left its host, and starts again on `host1`. */
export const MOVES = ['finish 1 queued', 'place main0@host1 side0@host1', 'start main0.2', 'start side0.2'];

/** The name of each service's host, null for services that are not placed. */
export const hostsOf = (rig: CoreRig, { services }: Execution): (string | null)[] =>
  services.map((one) => (one.placed ? rig.hostOf(one).name : null));
