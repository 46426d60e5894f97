import { expect, test } from 'vitest';
import { queuePolicies } from '../../../../control-plane/core/model/scheduler-config.ts';
import { queuePolicyComparators } from '../../../../control-plane/core/scheduling/queue-policy.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts, queuedIds, quota, user } from '../../../support/rigs/core-rig.ts';
import { increasedTo, queueOf } from '../../../support/rigs/queues.ts';
import { seededRandom } from '../../../support/tools/random.ts';
import { fc } from '../../../support/tools/random-cases.ts';

const all = () => true;
const none = () => false;

const sizes = [
  { id: 1, size: 30, timeSubmitMs: 0 },
  { id: 2, size: 10, timeSubmitMs: 5_000 },
  { id: 3, size: 10, timeSubmitMs: 6_000 },
  { id: 4, size: 1, timeSubmitMs: 40_000 },
];
test('C62: FIFO is the order of submission, whatever the order of insertion; SIZE is by size, and with DYNSIZE sizes shrink by 1 a second, so that no smaller execution passes one that waited long enough', () => {
  const { remove, order } = queueOf([9, 3, 7, 1, 8, 2, 6, 4, 5].map((id) => ({ id, cores: id % 3 })));
  expect(order()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  remove(7);
  remove(7);
  expect(order()).toEqual([1, 2, 3, 4, 5, 6, 8, 9]);
  expect(queueOf(sizes, { policy: 'SIZE' }).order()).toEqual([4, 2, 3, 1]);
  expect(queueOf(sizes, { policy: 'DYNSIZE' }).order()).toEqual([2, 3, 1, 4]);
});
test.each(queuePolicies)('C63: with %s the priority of the user comes first', (policy) => {
  const given = sizes.map((one) => ({ ...one, userId: one.id }));
  expect(queueOf(given, { policy, priorities: { 1: 2, 3: 7, 4: -1 } }).order()).toEqual([3, 1, 2, 4]);
});
test('C63: a change of a priority moves the queued executions of the user', () => {
  const rig = new CoreRig();
  const [first, second] = [rig.submit(), rig.submit(application(), 2)];
  rig.turn();
  expect(queuedIds(rig.cluster)).toEqual([first.id, second.id]);
  rig.cluster.setUser({ ...user(2, 2), priority: 1 });
  expect(queuedIds(rig.cluster)).toEqual([second.id, first.id]);
});

test('C64: among users of the same priority, the one with fewer placed executions comes first, so that a burst delays no other user', () => {
  const burst = Array.from({ length: 100 }, (_, at) => ({ id: at + 1, userId: 1 }));
  const { order, add } = queueOf(burst);
  add({ id: 101, userId: 2 });
  add({ id: 102, userId: 2 });
  expect(order().slice(0, 5)).toEqual([1, 101, 2, 102, 3]);
});
test('C64: running executions of a user count', () => {
  const given = [1, 2, 3, 4].map((id) => ({ id, userId: id < 4 ? 1 : 2 }));
  expect(queueOf(given, { executions: { 1: 1, 2: 3 } }).order()).toEqual([1, 2, 3, 4]);
  expect(queueOf(given, { executions: { 1: 2, 2: 1 } }).order()).toEqual([4, 1, 2, 3]);
});
test('C64: in a cluster, users take turns', () => {
  const rig = new CoreRig();
  for (const id of [1, 2, 3]) rig.cluster.setUser(user(id, 1));
  const whole = application(
    service({ resources: { memory: { min: null, max: null }, cores: { min: 1, max: null } } }),
  );
  const executions = [1, 1, 1, 1, 2, 2, 3].map((userId) => rig.submit(whole, userId));
  rig.join(hostFacts('one', { cores: 4 }));
  const starting = executions.filter(({ status }) => status === 'starting').map(({ id }) => id);
  expect(starting).toEqual([1, 2, 5, 7]);
});

const random = fc.array(
  fc.record({
    userId: fc.integer({ min: 1, max: 3 }),
    cores: fc.integer({ min: 1, max: 3 }),
    size: fc.nat({ max: 5 }),
    timeSubmitMs: fc.nat({ max: 5_000 }),
  }),
  { maxLength: 40 },
);
test.each(queuePolicies)('C65: with %s all executions are placed in the order of the queue', (policy) => {
  fc.assert(
    fc.property(random, (items) => {
      const given = items.map((item, at) => ({ ...item, id: at + 1 }));
      const { order, runRound, queue } = queueOf(given, { policy, priorities: { 2: 1 } });
      const expected = order();
      expect(runRound(all)).toEqual(expected);
      expect(expected.toSorted((a, b) => a - b)).toEqual(given.map(({ id }) => id));
      expect(queue.size).toBe(0);
    }),
  );
});
test('C65: an equivalence class is skipped after one of its executions does not fit, until capacity is freed', () => {
  const { queue, runRound, add } = queueOf([1, 2, 3, 4].map((id) => ({ id, cores: id === 4 ? 2 : 1 })));
  expect(runRound(none)).toEqual([1, 4]);
  expect(runRound(none)).toEqual([]);
  add({ id: 5 });
  expect(runRound(none)).toEqual([1]);
  queue.requeueUser(2);
  expect(runRound(none)).toEqual([]);
  queue.requeueUser(1);
  expect(runRound(none)).toEqual([1, 4]);
});
test.each(queuePolicies)(
  'C65: with %s executions that may fit are found among many that all differ',
  (policy) => {
    const random = seededRandom(1);
    const some = (id: number) => ({
      id,
      cores: 1 + Math.floor(random() * 1e6) / 1e4,
      size: Math.floor(random() * 50),
      timeSubmitMs: Math.floor(random() * 50_000),
    });
    const given = Array.from({ length: 500 }, (_, at) => some(1 + ((at * 7) % 500)));
    const { remove, add, order, failRound } = queueOf(given, { policy });
    const compare = queuePolicyComparators[policy];
    const expected = (those: readonly { id: number }[]) =>
      those.map((one) => ({ userId: 1, size: 0, timeSubmitMs: 0, ...one })).sort(compare);
    expect(order()).toEqual(expected(given).map(({ id }) => id));
    expect(failRound()).toEqual(order());
    for (const { id } of given.slice(0, 300)) remove(id);
    const more = Array.from({ length: 200 }, (_, at) => some(501 + at));
    for (const one of more) add(one);
    const rest = [...given.slice(300), ...more];
    expect(failRound()).toEqual(expected(more).map(({ id }) => id));
    expect(order()).toEqual(expected(rest).map(({ id }) => id));
    for (const cores of [0.5, 2, 30, 101]) {
      const fitting = rest.filter((one) => one.cores <= cores);
      expect(failRound(increasedTo(cores))).toEqual(expected(fitting).map(({ id }) => id));
    }
  },
);
test('C65: an unschedulable execution is tried again when a host that may take a part of it frees capacity', () => {
  const { queue, failRound } = queueOf([{ id: 1 }, { id: 2, cores: 2 }, { id: 3, userId: 2, cores: 2 }]);
  expect(failRound()).toEqual([1, 2]);
  queue.requeueUser(1);
  expect(failRound()).toEqual([]);
  expect(failRound(increasedTo(1))).toEqual([1]);
  expect(failRound()).toEqual([]);
  expect(failRound(increasedTo(2))).toEqual([1, 2]);
});

test('C65: an execution that is over its quota when hosts join is placed when the quota is raised', () => {
  const rig = new CoreRig();
  const one = rig.submitInTurn();
  rig.cluster.setQuota(quota(1, { cores: 0.05 }));
  rig.join(hostFacts('one'));
  expect(one.status).toBe('queued');
  rig.cluster.setQuota(quota(1));
  rig.turn();
  expect(one.status).toBe('starting');
});
