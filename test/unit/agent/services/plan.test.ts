import { describe, expect, test } from 'vitest';
import type { Container } from '../../../../agent/engine/engine.ts';
import type { OutputState } from '../../../../agent/logs/output-store.ts';
import {
  inventoryOf,
  observationOf,
  observeService,
  planService,
  type ServiceView,
  withLapsed,
} from '../../../../agent/services/plan.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const key = { service: 1, generation: 2 };
const wanted = assignment(key);
const created: Container = { ...key, id: 'new', state: 'created' };
const running: Container = { ...created, state: 'running', ipAddress: '10.0.0.2', ports: [], startedAtMs: 5 };
const exited: Container = { ...created, state: 'exited', exitCode: 3, outOfMemory: false, finishedAtMs: 9 };
const older: Container = { ...running, id: 'old', generation: 1 };

function view(changes: Partial<ServiceView> = {}, output: OutputState = 'complete'): ServiceView {
  return {
    assignment: wanted,
    containers: [],
    start: { kind: 'fresh' },
    detail: undefined,
    output: () => output,
    ...changes,
  };
}

describe('the next step of an assigned service', () => {
  test('without a container the next step is to create one', () => {
    expect(planService(view())).toEqual({ kind: 'create', assignment: wanted });
  });
  test('with a missing image the next step is a pull', () => {
    expect(planService(view({ start: { kind: 'image-missing' } }))).toEqual({
      kind: 'pull',
      assignment: wanted,
    });
  });
  test('with a created container the next step is to start it', () => {
    expect(planService(view({ containers: [created] }))).toMatchObject({ kind: 'start', container: created });
  });
  test('with a running container the next step is to preserve its output', () => {
    expect(planService(view({ containers: [running] }, 'unknown'))?.kind).toBe('preserve-output');
  });
  test('with a running container whose output is preserved there is no step', () => {
    expect(
      planService(view({ containers: [running], start: { kind: 'started' } }, 'preserved')),
    ).toBeUndefined();
  });
  test('with an exited container the next step is to complete the output', () => {
    expect(planService(view({ containers: [exited], start: { kind: 'started' } }, 'preserved'))?.kind).toBe(
      'preserve-output',
    );
  });
  test('P5: with an exited container nothing is started', () => {
    expect(planService(view({ containers: [exited], start: { kind: 'started' } }))).toBeUndefined();
  });
  test('P5: with a container that vanished after its start nothing is started', () => {
    expect(planService(view({ start: { kind: 'started' } }))).toBeUndefined();
  });
  test('P5: after a failed start nothing is started', () => {
    expect(planService(view({ start: { kind: 'failed', temporary: true, message: 'no' } }))).toBeUndefined();
  });
  test('after a failed start the created container is removed', () => {
    const start = { kind: 'failed', temporary: false, message: 'no' } as const;
    expect(planService(view({ containers: [created], start }))).toEqual({
      kind: 'remove',
      container: created,
    });
  });
  test('P5: of two containers of one key the one that progressed less is removed', () => {
    const twin: Container = { ...created, id: 'twin' };
    expect(planService(view({ containers: [twin, running] }))).toEqual({ kind: 'remove', container: twin });
  });
  test('a container of another generation goes first', () => {
    expect(planService(view({ containers: [older] }))).toEqual({ kind: 'stop', container: older });
  });
});

describe('the next step of an unwanted container', () => {
  const unwanted = (container: Container, output?: OutputState) =>
    planService(view({ assignment: undefined, containers: [container] }, output));

  test('P5: a running container is stopped', () => {
    expect(unwanted(running)).toEqual({ kind: 'stop', container: running });
  });
  test('an exited container is not removed before its output is complete', () => {
    expect(unwanted(exited, 'preserved')).toEqual({ kind: 'preserve-output', container: exited });
  });
  test('P5: an exited container with complete output is removed', () => {
    expect(unwanted(exited)).toEqual({ kind: 'remove', container: exited });
  });
  test('a container that never ran is removed', () => {
    expect(unwanted(created, 'unknown')).toEqual({ kind: 'remove', container: created });
  });
});

describe('the observation', () => {
  test('there is no observation before anything happened', () => {
    expect(observeService(view())).toBeUndefined();
  });
  test('the observation has the progress of a pull', () => {
    expect(observeService(view({ detail: 'pulling x' }))).toEqual({
      ...key,
      state: 'preparing',
      detail: 'pulling x',
    });
  });
  test('the observation is the state of the container', () => {
    const { id, ...rest } = exited;
    expect(observeService(view({ containers: [exited] }))).toEqual({ ...rest, containerId: id });
  });
  test('the observation is a failed start even while its container is being removed', () => {
    const start = { kind: 'failed', temporary: false, message: 'no such file' } as const;
    expect(observeService(view({ containers: [created], start }))).toEqual({
      ...key,
      state: 'failed',
      temporary: false,
      message: 'no such file',
    });
  });
  test('the observation is gone for a started container that no longer exists', () => {
    expect(observeService(view({ start: { kind: 'started' } }))).toEqual({ ...key, state: 'gone' });
  });
  test('there is no observation of a service that is not assigned', () => {
    expect(observeService(view({ assignment: undefined, containers: [running] }))).toBeUndefined();
  });
});

describe('the inventory of a hello', () => {
  const failed = { ...key, state: 'failed', temporary: true, message: 'no' } as const;

  test('P5: a failed start is in the inventory, in place of its container and after its removal', () => {
    const start = { kind: 'failed', temporary: true, message: 'no' } as const;
    expect(inventoryOf(view({ start }))).toEqual([failed]);
    expect(inventoryOf(view({ start, containers: [created, older] }))).toEqual([
      failed,
      observationOf(older),
    ]);
  });
  test('P5: a container whose start failed is no container that ended', () => {
    const one: Container = { ...exited, startError: 'no such file' };
    expect(observationOf(one)).toEqual({
      ...key,
      state: 'failed',
      temporary: false,
      message: 'no such file',
    });
  });
  test('P33: a key that was given up is being stopped while its container exists, and then gone', () => {
    const detail = expect.stringContaining('being stopped');
    const others = [observationOf(older)];
    expect(withLapsed([observationOf(running), ...others], [key])).toEqual([
      ...others,
      { ...key, state: 'preparing', detail },
    ]);
    expect(withLapsed(others, [key])).toEqual([...others, { ...key, state: 'gone', lapsed: true }]);
  });
});
