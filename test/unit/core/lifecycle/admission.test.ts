import { expect, test } from 'vitest';
import { waitingBytesOf } from '../../../../control-plane/core/model/execution.ts';
import { defaultSchedulerConfig } from '../../../../control-plane/core/model/scheduler-config.ts';
import { application, service } from '../../../support/fixtures/applications.ts';
import { CoreRig, hostFacts } from '../../../support/rigs/core-rig.ts';

const { bounds } = defaultSchedulerConfig;
const bounded = (changes: Partial<typeof bounds>) => new CoreRig({ bounds: { ...bounds, ...changes } });

/** The error of a submission that is refused. */
const tooMany = (text: string) =>
  expect.objectContaining({ code: 'too-many', message: expect.stringContaining(text) });

test('H360: an execution may have as many instances as the bound, and not one more', () => {
  const rig = bounded({ instancesPerExecution: 3 });
  const of = (count: number) =>
    application(service({ name: 'web', total_count: count, essential_count: count }));
  rig.submit(of(3));
  expect(() => rig.submit(of(4))).toThrow(tooMany('has 4 instances, and an execution may have 3'));
});

test('H357: the descriptions of a user that wait may have as many bytes as the bound, and not one more', () => {
  const bytes = waitingBytesOf(new CoreRig().submit());
  const exact = bounded({ waitingBytesPerUser: 2 * bytes });
  exact.submit();
  exact.submit();
  const less = bounded({ waitingBytesPerUser: 2 * bytes - 1 });
  less.submit();
  expect(() => less.submit()).toThrow(tooMany('descriptions of your waiting executions'));
  less.submit(application(), 2);
});

test('H355: a user may have as many executions waiting as the bound, and not one more; those that were placed or terminated no longer count', () => {
  const rig = bounded({ waitingPerUser: 2 });
  const [first, second] = [rig.submit(), rig.submit()];
  expect(() => rig.submit()).toThrow(tooMany('You have 2 executions waiting'));
  rig.submit(application(), 2);
  rig.terminate(second);
  expect(rig.cluster.counts.waitingOf(1).executions).toBe(1);
  rig.join(hostFacts('one'));
  expect(first.status).toBe('starting');
  expect(rig.cluster.counts.waitingOf(1)).toEqual({ executions: 0, bytes: 0 });
  expect(rig.cluster.counts.waiting).toBe(0);
});

test('H356: the reserve is for users with fewer than 100 waiting, and a tenth of the bound', () => {
  const rig = bounded({ waiting: 100 });
  for (let count = 0; count < 100; count++) rig.submit();
  expect(() => rig.submit()).toThrow(tooMany('the queue holds 100. Try again'));
  for (let count = 0; count < 10; count++) rig.submit(application(), 2);
  expect(() => rig.submit(application(), 2)).toThrow(tooMany('the queue holds 100, and 10 more'));
  expect(rig.cluster.counts.waiting).toBe(110);
});
