import { expect, test } from 'vitest';
import type { Quota } from '../../../../control-plane/core/accounts/account.ts';
import { exceededLimits, noUsage } from '../../../../control-plane/core/accounts/quota.ts';
import type { Execution } from '../../../../control-plane/core/model/execution.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, exited, gone, named, pair, quota, running, user } from '../../../support/rigs/core-rig.ts';
import { queueOf } from '../../../support/rigs/queues.ts';
import { rigWith } from '../../../support/rigs/quotas.ts';

const MIB = 2 ** 20;

const needing = (memoryBytes: number | null, cores: number | null) =>
  application(service({ resources: needs(memoryBytes, cores) }));

test.each<[string, Partial<Quota>, number]>([
  ['of executions', { concurrentExecutions: 3 }, 3],
  ['of memory, to the byte', { memoryBytes: 299 }, 2],
  ['of memory that is used up exactly', { memoryBytes: 300 }, 3],
  ['of cores that is used up exactly', { cores: 1 }, 10],
  [
    'of each dimension, at the first that is reached',
    { concurrentExecutions: 5, memoryBytes: 450, cores: 2 },
    4,
  ],
  ['of 0, which is no cap', {}, 12],
])('C52: a start waits beyond a cap %s', (_, caps, started) => {
  const rig = rigWith(caps);
  const executions = Array.from({ length: 12 }, () => rig.submit(needing(100, 0.1)));
  rig.turn();
  const statuses = executions.map(({ status }) => status);
  expect(statuses).toEqual(executions.map((_, at) => (at < started ? 'starting' : 'queued')));
});

test('C52: all essential services of an execution count, and a service without a minimum counts 0.1 cores', () => {
  const rig = rigWith({ cores: 1 });
  const gang = application(service({ total_count: 6, essential_count: 6 }));
  const [first, second] = [rig.submit(gang), rig.submit(gang)];
  rig.turn();
  expect([first.status, second.status]).toEqual(['starting', 'queued']);
  expect(rig.cluster.usage(1)).toEqual({ executions: 1, memoryBytes: 6 * 512 * MIB, microCores: 600_000 });
});

test('C52: an execution that fits passes one that does not, and other users are not delayed', () => {
  const rig = rigWith({ memoryBytes: 100 });
  const large = rig.submit(needing(101, null));
  const small = rig.submit(needing(100, null));
  const other = rig.submitInTurn(needing(101, null), 2);
  expect([large.status, small.status, other.status]).toEqual(['queued', 'starting', 'starting']);
});

test('C52: each user of a quota has its caps separately', () => {
  const rig = rigWith({ concurrentExecutions: 1 });
  rig.cluster.setUser(user(2, 1));
  const executions = [1, 2, 1, 2].map((userId) => rig.submit(application(), userId));
  rig.turn();
  expect(executions.map(({ status }) => status)).toEqual(['starting', 'starting', 'queued', 'queued']);
});

test('C53: capacity under a raised quota, or that of another quota, is offered to the oldest executions first, and to one that alone exceeded it', () => {
  const rig = rigWith({ concurrentExecutions: 1 });
  const executions = Array.from({ length: 4 }, () => rig.submit());
  rig.turn();
  rig.cluster.setQuota(quota(1, { concurrentExecutions: 3 }));
  rig.turn();
  expect(executions.map(({ status }) => status)).toEqual(['starting', 'starting', 'starting', 'queued']);
  rig.cluster.setQuota(quota(1));
  rig.turn();
  expect(executions[3]?.status).toBe('starting');
  const other = rigWith({ concurrentExecutions: 1 });
  const both = [other.submit(), other.submit()];
  other.turn();
  other.cluster.setUser(user(1, 2));
  other.turn();
  expect(both.map(({ status }) => status)).toEqual(['starting', 'starting']);
  const small = rigWith({ memoryBytes: 100 });
  const execution = small.submitInTurn(needing(101, null));
  expect(execution.status).toBe('queued');
  small.cluster.setQuota(quota(1, { memoryBytes: 101 }));
  small.turn();
  expect(execution.status).toBe('starting');
});

test('C53: an execution that returns to the queue leaves its capacity to the next one, and starts after that', () => {
  const rig = rigWith({ concurrentExecutions: 1 });
  const [first, second] = [rig.submit(), rig.submit()];
  rig.turn();
  rig.see(named(first, 'web0'), { state: 'failed', temporary: true, message: 'busy' }, gone);
  expect([first.status, second.status]).toEqual(['queued', 'starting']);
  rig.advance(60_000);
  rig.see(named(second, 'web0'), running, exited(0));
  expect([first.status, second.status]).toEqual(['queued', 'cleaning up']);
  rig.see(named(second, 'web0'), gone);
  expect([first.status, second.status]).toEqual(['starting', 'terminated']);
});

test('C53: capacity is offered when an execution ends that had nothing placed', () => {
  const rig = new CoreRig();
  rig.cluster.setQuota(quota(1, { concurrentExecutions: 1 }));
  const elastic = application(service({ essential_count: 0 }));
  const [first, second] = [rig.submit(elastic), rig.submit(elastic)];
  rig.turn();
  expect([first.status, second.status]).toEqual(['running', 'queued']);
  rig.terminate(first);
  expect([first.status, second.status]).toEqual(['terminated', 'running']);
});

const elastic = application(service({ total_count: 3, essential_count: 1, resources: needs(100, null) }));

test('C54: an elastic service beyond a cap is placed only once the quota has capacity for it', () => {
  const rig = rigWith({ concurrentExecutions: 1, memoryBytes: 250 });
  const execution = rig.submitInTurn(elastic);
  rig.see(named(execution, 'web0'), running);
  expect(execution.services.map(({ placed }) => placed)).toEqual([true, true, false]);
  rig.cluster.setQuota(quota(1, { concurrentExecutions: 1, memoryBytes: 300 }));
  expect(rig.turn()).toEqual(['place web2@large', 'start web2.1']);
});

test('C54: a lowered quota stops nothing, but delays new executions', () => {
  const rig = rigWith({});
  const executions = [rig.submit(), rig.submit(), rig.submit()];
  rig.turn();
  rig.cluster.setQuota(quota(1, { concurrentExecutions: 1 }));
  expect(rig.turn()).toEqual([]);
  const next = rig.submitInTurn();
  for (const [at, execution] of executions.entries()) {
    const left = 2 - at;
    expect(next.status).toBe('queued');
    rig.terminate(execution);
    rig.see(named(execution, 'web0'), gone);
    expect(rig.cluster.usage(1).executions).toBe(left + (next.status === 'starting' ? 1 : 0));
  }
  expect(next.status).toBe('starting');
});

test('C54: a service that dies is started again even if the quota has become too small', () => {
  const rig = rigWith({});
  const execution = rig.submitInTurn(pair);
  for (const one of execution.services) rig.see(one, running);
  rig.cluster.setQuota(quota(1, { cores: 0, memoryBytes: 1, concurrentExecutions: 1 }));
  rig.see(named(execution, 'side0'), exited(1), gone);
  expect(rig.advance(1_000)).toEqual(['start side0.2']);
});

test('C55: the reasons are all caps that a start would exceed, each with its excess, in the units of the quota, and no dimension without demand or without a cap', () => {
  const caps = quota(1, { concurrentExecutions: 2, memoryBytes: 1_000, cores: 3 });
  const used = { executions: 2, memoryBytes: 900, microCores: 2_900_000 };
  expect(exceededLimits(caps, used, { executions: 1, memoryBytes: 200, microCores: 150_000 })).toEqual([
    { dimension: 'executions', limit: 2, used: 2, wanted: 1, over: 1 },
    { dimension: 'memory', limit: 1_000, used: 900, wanted: 200, over: 100 },
    { dimension: 'cores', limit: 3, used: 2.9, wanted: 0.15, over: 0.05 },
  ]);
  const other = { executions: 9, memoryBytes: 900, microCores: 9e6 };
  expect(exceededLimits(quota(1, { memoryBytes: 1 }), other, { ...noUsage(), executions: 1 })).toEqual([]);
  expect(exceededLimits(quota(1), other, { executions: 1, memoryBytes: 1e12, microCores: 1e12 })).toEqual([]);
});

test('C57: however many executions of a user wait, one is examined if the user may start no more', () => {
  const { queue, runRound } = queueOf(
    Array.from({ length: 10_000 }, (_, at) => ({ id: at + 1, userId: at < 3 ? 2 : 1 })),
  );
  expect(runRound(({ userId }) => userId === 2)).toEqual([1, 4, 2, 3]);
  expect(queue.size).toBe(9_997);
});
test('C57: an end causes few checks, however many executions of its user wait', () => {
  const rig = rigWith({ concurrentExecutions: 1 });
  const executions = Array.from({ length: 2_000 }, () => rig.submit());
  rig.turn();
  const [first] = executions as [Execution];
  rig.terminate(first);
  const check = rig.cluster.exceededLimits.bind(rig.cluster);
  let checks = 0;
  rig.cluster.exceededLimits = (...args) => {
    checks++;
    return check(...args);
  };
  rig.see(named(first, 'web0'), gone);
  expect(executions[1]?.status).toBe('starting');
  expect(checks).toBeLessThan(10);
});
