import { expect, test } from 'vitest';
import { coreSharesAt } from '../../../../control-plane/core/state/core-shares.ts';
import { application, needs, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts, quota } from '../../../support/rigs/core-rig.ts';

const of = (cores: number, label: string, count = 1) =>
  application(
    service({
      ...{ labels: [label], resources: needs(1, cores) },
      ...{ total_count: count, essential_count: count },
    }),
  );

/** Hosts `a` and `b`, each with a label of its name. User 1 has this quota of cores, user 2 no cap. */
function rigWith(cores: number) {
  const rig = new CoreRig();
  rig.cluster.setQuota(quota(1, { cores }));
  const [a, b] = ['a', 'b'].map((name) => rig.hello(hostFacts(name, { cores: 64, labels: [name] })).id);
  const submit = (described: ReturnType<typeof of>, userId: number) => {
    const execution = rig.submitInTurn(described, userId);
    expect(execution.status).toBe('starting');
    return execution;
  };
  const sharesAt = (host = 0) => coreSharesAt(rig.cluster, host);
  return { rig, submit, sharesAt, a, b };
}

test('C212: a share is what the services of the user reserve on the host and the rest of the quota', () => {
  const { submit, sharesAt, a } = rigWith(4);
  const mine = submit(of(0.5, 'a', 2), 1);
  expect(sharesAt(a)).toEqual([]);
  submit(of(1, 'a'), 2);
  expect(sharesAt(a)).toEqual([{ cores: 4, executions: [mine.id] }]);
});

test('C212: the shares of a user on all hosts together are the quota', () => {
  const { submit, sharesAt, a, b } = rigWith(4);
  const first = submit(of(1, 'a'), 1);
  const second = submit(of(0.5, 'b', 2), 1);
  for (const label of ['a', 'b']) submit(of(1, label), 2);
  const [onA, onB] = [sharesAt(a), sharesAt(b)];
  expect(onA).toEqual([{ cores: 1.666666, executions: [first.id] }]);
  expect(onB).toEqual([{ cores: 2.333333, executions: [second.id] }]);
});

test('C212: a quota that was changed counts at once, and below the reservations the share is what they are', () => {
  const { rig, submit, sharesAt, a } = rigWith(4);
  const mine = submit(of(2, 'a'), 1);
  submit(of(1, 'a'), 2);
  const shareWith = (cores: number) => {
    rig.cluster.setQuota(quota(1, { cores }));
    return sharesAt(a);
  };
  expect(shareWith(3)).toEqual([{ cores: 3, executions: [mine.id] }]);
  expect(shareWith(1)).toEqual([{ cores: 2, executions: [mine.id] }]);
  expect(shareWith(0)).toEqual([]);
});

test('C212: services that released their capacity have no part in a share', () => {
  const { rig, submit, sharesAt, a } = rigWith(4);
  submit(of(0.5, 'a'), 1);
  const others = submit(of(1, 'a'), 2);
  expect(sharesAt(a)).toHaveLength(1);
  for (const one of others.services) rig.cluster.release(one);
  expect(sharesAt(a)).toEqual([]);
});
