/** Heap of the coordinator's core per execution that waits, for descriptions of each kind. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { submit } from '../../control-plane/core/lifecycle/admission.ts';
import { reconcile } from '../../control-plane/core/lifecycle/reconciler.ts';
import { defaultBounds } from '../../control-plane/core/model/bounds.ts';
import { type Host, newHost } from '../../control-plane/core/model/host.ts';
import {
  defaultSchedulerConfig,
  type SchedulerConfig,
} from '../../control-plane/core/model/scheduler-config.ts';
import { Cluster } from '../../control-plane/core/state/cluster.ts';
import type { Application } from '../../shared/application-schema.ts';
import { application, needs, service } from '../../test/support/fixtures/applications.ts';
import { quota, user } from '../../test/support/rigs/core-rig.ts';
import { bounded, type Measurement } from './figure.ts';

export const NOW_MS = 1_700_000_000_000;
export const USERS = 100;
const MIB = 2 ** 20;
const WARM_UP = 100;
const BYTES = 500;
const BYTES_OF_NEED = 64;

interface Kind {
  name: string;
  count: number;
  applicationOf: (at: number) => Application;
  /** Distinct needs of each execution that no other execution has. */
  ownNeeds?: number;
  /** What its labels may take, if no other execution has them. */
  ownLabelBytes?: number;
}

/** More cores than any host has. */
const tooMany = (at: number) => needs((1 + (at % 16)) * MIB, 1_000 + at / 4);
const one = application(service({ resources: tooMany(0) }));
const many = application(service({ resources: tooMany(0), total_count: 1_000, essential_count: 1_000 }));
const groups = (first: number) =>
  application(
    ...Array.from({ length: 100 }, (_, at) =>
      service({ name: `group${at}-`, resources: tooMany(first + at) }),
    ),
  );
const hundred = groups(0);

/** 300 labels, of which each of 100 groups requires 100. The texts of long labels are not shared by V8. */
const labelled = (at: number) => {
  const labels = Array.from({ length: 300 }, (_, label) => `${label}-${at}`.padEnd(12, 'x'));
  return application(
    ...Array.from({ length: 100 }, (_, group) =>
      service({
        name: `group${group}-`,
        resources: tooMany(0),
        labels: Array.from({ length: 100 }, (_, n) => labels[(3 * group + n) % 300] ?? ''),
      }),
    ),
  );
};
const TEXT_BYTES = 40;
const LIST_BYTES = 48;
const REFERENCE_BYTES = 8;

const kinds: Kind[] = [
  { name: 'of one instance', count: 50_000, applicationOf: () => one },
  { name: 'of 1,000 instances', count: 50_000, applicationOf: () => many },
  { name: 'of 1 MiB of text', count: 2_000, applicationOf: () => one },
  { name: 'of 100 groups that all differ', count: 10_000, applicationOf: () => hundred },
  {
    name: 'of needs that all differ',
    count: 50_000,
    applicationOf: (at) => application(service({ resources: tooMany(at) })),
    ownNeeds: 1,
  },
  {
    name: 'of 100 groups that all differ, as do those of all others',
    count: 1_000,
    applicationOf: (at) => groups(100 * at),
    ownNeeds: 100,
  },
  {
    name: 'of 100 groups with 100 labels each, which no other has',
    count: 250,
    applicationOf: labelled,
    ownNeeds: 100,
    ownLabelBytes: 300 * TEXT_BYTES + 100 * (LIST_BYTES + 100 * REFERENCE_BYTES),
  },
];

export const measureWaiting = (): Measurement[] => kinds.map(measureKind);

function measureKind({ name, count, applicationOf, ownNeeds = 0, ownLabelBytes = 0 }: Kind): Measurement {
  const description = name.includes('text') ? 'x'.repeat(MIB) : '';
  // Lets go of what the previous kind has left.
  fill(smallCluster(), WARM_UP, applicationOf, description);
  const cluster = smallCluster();
  const before = heapBytes();
  fill(cluster, count, applicationOf, description);
  const figure = (heapBytes() - before) / count;
  if (cluster.queue.size !== count) throw new Error(`only ${cluster.queue.size} executions are queued`);
  const most = BYTES + ownNeeds * BYTES_OF_NEED + ownLabelBytes;
  return bounded(`heap of an execution that waits, ${name}`, 'bytes', figure, most);
}

function smallCluster(): Cluster {
  const size = { connected: true, memoryBytes: 64 * 2 ** 30, cores: 64 };
  return clusterOf(10, unboundedConfig, (id) => ({ ...newHost(id, `host${id}`, NOW_MS), ...size }));
}

/** Without bounds, with users of one quota without caps. */
export function clusterOf(hosts: number, policy: SchedulerConfig, hostOf: (id: number) => Host): Cluster {
  const cluster = new Cluster({ execution: 1, service: 1, host: 1 }, policy);
  cluster.setQuota(quota(1));
  for (let id = 1; id <= USERS; id++) cluster.setUser(user(id, 1));
  for (let at = 0; at < hosts; at++) cluster.addHost(hostOf(cluster.nextIds.host++));
  return cluster;
}

function fill(
  cluster: Cluster,
  count: number,
  applicationOf: Kind['applicationOf'],
  description: string,
): void {
  for (let at = 0; at < count; at++) {
    // Parsed, as that of a request is.
    const name = JSON.parse(`"execution ${at}"`) as string;
    const application = ownTexts(applicationOf(at));
    submit(cluster, { userId: 1 + (at % USERS), name, application, description }, NOW_MS + at);
    cluster.takeChanges();
  }
  reconcile(cluster, NOW_MS);
}

/** Labels as a parser makes them: each one a text of its own. */
const ownTexts = (described: Application): Application =>
  described.services.some(({ labels }) => labels?.length) ? JSON.parse(JSON.stringify(described)) : described;

/** Without bounds on what waits: a few users submit everything. */
export const unboundedConfig = {
  ...defaultSchedulerConfig,
  bounds: { ...defaultBounds, waiting: 1e9, waitingPerUser: 1e9, waitingBytesPerUser: 1e15 },
};

setFlagsFromString('--expose-gc');
// Otherwise collections also free the compiled code of modules that are loaded but not used.
setFlagsFromString('--no-flush-bytecode');
const collect = runInNewContext('gc') as () => void;

function heapBytes(): number {
  // One collection may leave what the next ones find.
  for (let at = 0; at < 4; at++) collect();
  return process.memoryUsage().heapUsed;
}
