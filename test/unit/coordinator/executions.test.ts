import { beforeEach, describe, expect, test } from 'vitest';
import { application } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, codeOf, seen } from '../../support/rigs/coordinator-rig.ts';
import { gone, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});

/** An execution with a time limit of 60 s, which runs. */
async function limited() {
  const agent = await rig.agent().join();
  const description = application();
  const submission = { userId: 1, name: 'run', application: description, timeLimitS: 60 };
  const { id } = await rig.coordinator.submit({ ...submission, description: JSON.stringify(description) });
  const assignment = await agent.started();
  await agent.reportAndWait(seen(assignment, running));
  return { id, assignment };
}

test('C270, C41: a coordinator that takes over ends an execution when its time limit is over', async () => {
  const { id, assignment } = await limited();
  rig.restart();
  const two = await rig.agent().join([seen(assignment, running)]);
  expect(rig.clock.alarmMs).toBeLessThanOrEqual(rig.clock.nowMs() + 60_000);
  rig.pass(60_000);
  await eventually(async () => (await rig.statusOf(id)) === 'cleaning up');
  await two.reportAndWait(seen(assignment, gone));
  expect(await rig.statusOf(id)).toBe('error');
});

describe.each([
  ['forward', 3_600_000],
  ['back', -3_600_000],
])('C332: after the wall clock was set %s by an hour', (_, stepMs) => {
  /** The execution runs for 30 s more, to the millisecond. */
  async function expectEndAfter30S(id: number) {
    rig.clock.pass(29_999);
    await rig.coordinator.allowance(1);
    expect(await rig.statusOf(id)).toBe('running');
    rig.pass(1);
    await eventually(async () => (await rig.statusOf(id)) === 'cleaning up');
  }

  test('C332: an execution with a time limit runs on, its host stays, and both end in their own time', async () => {
    const { id } = await limited();
    rig.clock.pass(30_000);
    rig.clock.step(stepMs);
    await rig.coordinator.ready();
    rig.coordinator.wake();
    await eventually(() => rig.clock.alarmMs === rig.clock.nowMs() + 30_000);
    expect(await rig.statusOf(id)).toBe('running');
    await expectEndAfter30S(id);
    rig.clock.pass(29_999);
    await rig.coordinator.allowance(1);
    expect(await rig.memory.query('SELECT lost FROM hosts')).toEqual([{ lost: 0 }]);
    rig.pass(1);
    await eventually(async () => (await rig.memory.query('SELECT lost FROM hosts'))[0]?.lost === 1);
  });

  test('C332: a restart counts on what was recorded since, and a commit that fails meanwhile neither hides the step nor counts it twice', async () => {
    const { id } = await limited();
    rig.clock.pass(30_000);
    rig.clock.step(stepMs);
    expect(await rig.codeWhile('refused', () => rig.submit())).toBe('unavailable');
    await rig.coordinator.ready();
    await rig.coordinator.allowance(1);
    rig.restart();
    await rig.coordinator.ready();
    expect(rig.clock.alarmMs).toBeLessThanOrEqual(rig.clock.nowMs() + 30_000);
    await expectEndAfter30S(id);
  });

  test('C332: the charts keep the samples of the last hour', async () => {
    await limited();
    rig.clock.pass(60_000);
    await rig.coordinator.allowance(1);
    const { samples } = await rig.coordinator.host(1);
    rig.clock.step(stepMs);
    const after = await rig.coordinator.host(1);
    expect(after.samples.length).toBe(samples.length);
    expect(rig.clock.nowMs() - (after.samples[0]?.atMs ?? 0)).toBe(60_000);
  });
});

describe('requests of users', () => {
  test('C15: deleting hides an execution at once, and it is not found again', async () => {
    const { agent: one, id, start: assignment } = await rig.runs();
    await rig.coordinator.remove(id);
    expect(await rig.statusOf(id)).toBeUndefined();
    expect(await codeOf(rig.coordinator.remove(id))).toBe('not-found');
    expect(await codeOf(rig.coordinator.terminate(id))).toBe('not-found');
    await one.reportAndWait(seen(assignment, gone));
    expect(one.socket.all('forget')).toEqual([{ type: 'forget', services: [assignment.service] }]);
    one.report([], [assignment.service]);
    await eventually(async () => (await rig.memory.query('SELECT id FROM executions')).length === 0);
    expect(await rig.memory.query('SELECT id FROM services')).toEqual([]);
  });
  test('C15: deleting an execution that ended long ago purges it, once, and an unknown one is `not-found`', async () => {
    const id = await rig.submit();
    await rig.coordinator.terminate(id);
    const outcomes = await Promise.all([id, id, 99].map((one) => codeOf(rig.coordinator.remove(one))));
    expect(outcomes).toEqual(['fulfilled', 'not-found', 'not-found']);
    expect(await rig.memory.query('SELECT id FROM executions')).toEqual([]);
  });
  test('C15: an execution that ends while its deletion waits is deleted', async () => {
    const id = await rig.submit();
    // The first turn has room for 500 inputs: it ends the execution, and the next one deletes it.
    const first = [
      rig.coordinator.terminate(id),
      ...Array.from({ length: 499 }, () => rig.coordinator.state()),
    ];
    const deletion = rig.coordinator.remove(id);
    await Promise.all(first);
    await deletion;
    expect(await rig.statusOf(id)).toBeUndefined();
  });
  test('C43: without a database every request is refused as unavailable', async () => {
    const id = await rig.submit();
    await rig.coordinator.terminate(id);
    rig.db.failing = 'unreachable';
    expect(await codeOf(rig.coordinator.remove(id))).toBe('unavailable');
    expect(await codeOf(rig.submit())).toBe('unavailable');
    expect(await codeOf(rig.coordinator.terminate(id))).toBe('unavailable');
    expect(await codeOf(rig.openLog(1))).toBe('unavailable');
  });
});
