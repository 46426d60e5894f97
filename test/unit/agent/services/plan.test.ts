import { describe, expect, test } from 'vitest';
import type { Container } from '../../../../agent/engine/engine.ts';
import type { OutputState } from '../../../../agent/logs/output-store.ts';
import { observeService, planService, type ServiceView } from '../../../../agent/services/plan.ts';
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

describe('the next step for a wanted service', () => {
  test('without a container it creates one', () => {
    expect(planService(view())).toEqual({ kind: 'create', assignment: wanted });
  });
  test('with a missing image it pulls', () => {
    expect(planService(view({ start: { kind: 'image-missing' } }))).toEqual({
      kind: 'pull',
      assignment: wanted,
    });
  });
  test('with a created container it starts it', () => {
    expect(planService(view({ containers: [created] }))).toMatchObject({ kind: 'start', container: created });
  });
  test('with a running container it first keeps its output', () => {
    expect(planService(view({ containers: [running] }, 'unknown'))?.kind).toBe('preserve-output');
  });
  test('with a running container whose output is kept it does nothing', () => {
    expect(
      planService(view({ containers: [running], start: { kind: 'started' } }, 'preserved')),
    ).toBeUndefined();
  });
  test('with an exited container it completes the output', () => {
    expect(planService(view({ containers: [exited], start: { kind: 'started' } }, 'preserved'))?.kind).toBe(
      'preserve-output',
    );
  });
  test('P5: with an exited container it starts nothing', () => {
    expect(planService(view({ containers: [exited], start: { kind: 'started' } }))).toBeUndefined();
  });
  test('P5: with a container that vanished after its start it starts nothing', () => {
    expect(planService(view({ start: { kind: 'started' } }))).toBeUndefined();
  });
  test('P5: after a failed start it starts nothing', () => {
    expect(planService(view({ start: { kind: 'failed', temporary: true, message: 'no' } }))).toBeUndefined();
  });
  test('after a failed start it removes what was created', () => {
    const start = { kind: 'failed', temporary: false, message: 'no' } as const;
    expect(planService(view({ containers: [created], start }))).toEqual({
      kind: 'remove',
      container: created,
    });
  });
  test('P5: of two containers of one key it removes the one that got less far', () => {
    const twin: Container = { ...created, id: 'twin' };
    expect(planService(view({ containers: [twin, running] }))).toEqual({ kind: 'remove', container: twin });
  });
  test('a container of another generation goes first', () => {
    expect(planService(view({ containers: [older] }))).toEqual({ kind: 'stop', container: older });
  });
});

describe('the next step for an unwanted container', () => {
  const unwanted = (container: Container, output?: OutputState) =>
    planService(view({ assignment: undefined, containers: [container] }, output));

  test('P5: a running one is stopped', () => {
    expect(unwanted(running)).toEqual({ kind: 'stop', container: running });
  });
  test('an exited one is not removed before its output is complete', () => {
    expect(unwanted(exited, 'preserved')).toEqual({ kind: 'preserve-output', container: exited });
  });
  test('P5: an exited one with complete output is removed', () => {
    expect(unwanted(exited)).toEqual({ kind: 'remove', container: exited });
  });
  test('one that never ran is removed', () => {
    expect(unwanted(created, 'unknown')).toEqual({ kind: 'remove', container: created });
  });
});

describe('what there is to say', () => {
  test('nothing before anything happened', () => {
    expect(observeService(view())).toBeUndefined();
  });
  test('the progress of a pull', () => {
    expect(observeService(view({ detail: 'pulling x' }))).toEqual({
      ...key,
      state: 'preparing',
      detail: 'pulling x',
    });
  });
  test('the state of the container', () => {
    const { id, ...rest } = exited;
    expect(observeService(view({ containers: [exited] }))).toEqual({ ...rest, containerId: id });
  });
  test('a failed start even while its container is being removed', () => {
    const start = { kind: 'failed', temporary: false, message: 'no such file' } as const;
    expect(observeService(view({ containers: [created], start }))).toEqual({
      ...key,
      state: 'failed',
      temporary: false,
      message: 'no such file',
    });
  });
  test('gone for a started container that is not there any more', () => {
    expect(observeService(view({ start: { kind: 'started' } }))).toEqual({ ...key, state: 'gone' });
  });
  test('nothing of a service that is not wanted', () => {
    expect(observeService(view({ assignment: undefined, containers: [running] }))).toBeUndefined();
  });
});
