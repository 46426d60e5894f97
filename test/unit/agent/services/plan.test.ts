import { expect, test } from 'vitest';
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
const twin: Container = { ...created, id: 'twin' };
const fresh = { kind: 'fresh' } as const;
const missing = { kind: 'image-missing' } as const;
const started = { kind: 'started' } as const;
const failed = { kind: 'failed', temporary: false, message: 'no' } as const;

const view = (
  start: ServiceView['start'],
  containers: Container[] = [],
  output: OutputState = 'complete',
  changes: Partial<ServiceView> = {},
): ServiceView => ({
  ...{ assignment: wanted, containers, start, detail: undefined, output: () => output },
  ...changes,
});

const create = { kind: 'create', assignment: wanted };
const pull = { kind: 'pull', assignment: wanted };
const start = { kind: 'start', container: created };
const step = (kind: string, container: Container) => ({ kind, container });

test.each<[string, Parameters<typeof view>, object | undefined]>([
  ['without a container one is created', [fresh], create],
  ['a missing image is pulled', [missing], pull],
  ['a created container is started', [fresh, [created]], start],
  ['output is preserved', [fresh, [running], 'unknown'], step('preserve-output', running)],
  ['a running container with preserved output is left', [started, [running], 'preserved'], undefined],
  ['output of an ended one is completed', [started, [exited], 'preserved'], step('preserve-output', exited)],
  ['an ended one is left', [started, [exited]], undefined],
  ['one that vanished after its start is not started', [started], undefined],
  ['nothing follows a failed start', [failed], undefined],
  ['the container of a failed start is removed', [failed, [created]], step('remove', created)],
  ['of two of one key the one that progressed less goes', [fresh, [twin, running]], step('remove', twin)],
  ['one of another generation goes first', [fresh, [older]], step('stop', older)],
])('P5: the next step of an assigned service: %s', (_, given, next) => {
  if (next) expect(planService(view(...given))).toMatchObject(next);
  else expect(planService(view(...given))).toBeUndefined();
});

test.each<[string, Container, OutputState, object]>([
  ['that runs is stopped', running, 'complete', step('stop', running)],
  ['is not removed before its output is complete', exited, 'preserved', step('preserve-output', exited)],
  ['that has ended is removed', exited, 'complete', step('remove', exited)],
  ['that never ran is removed', created, 'unknown', step('remove', created)],
])('P5: an unwanted container %s', (_, container, output, next) => {
  expect(planService(view(fresh, [container], output, { assignment: undefined }))).toEqual(next);
});

const { id: containerId, ...ended } = exited;
const failure = { ...key, state: 'failed', temporary: false, message: 'no' };

test.each<[string, ServiceView, object | undefined]>([
  ['nothing before anything happened', view(fresh), undefined],
  [
    'the progress of a pull',
    view(fresh, [], 'complete', { detail: 'pulling x' }),
    { ...key, state: 'preparing', detail: 'pulling x' },
  ],
  ['the state of the container', view(fresh, [exited]), { ...ended, containerId }],
  ['a failed start even while its container is being removed', view(failed, [created]), failure],
  ['gone for a started container that no longer exists', view(started), { ...key, state: 'gone' }],
  ['nothing if it is not assigned', view(fresh, [running], 'complete', { assignment: undefined }), undefined],
])('the observation of a service is %s', (_, of, observation) => {
  expect(observeService(of)).toEqual(observation);
});

test('P5: a failed start is in the inventory, in place of its container and after its removal', () => {
  expect(inventoryOf(view(failed))).toEqual([failure]);
  expect(inventoryOf(view(failed, [created, older]))).toEqual([failure, observationOf(older)]);
  // A container whose start failed is none that ended.
  expect(observationOf({ ...exited, startError: 'no' })).toEqual(failure);
});

test('P33: a key that was given up is being stopped while its container exists, and then gone', () => {
  const detail = expect.stringContaining('being stopped');
  const others = [observationOf(older)];
  const stopping = { ...key, state: 'preparing', detail };
  expect(withLapsed([observationOf(running), ...others], [key])).toEqual([...others, stopping]);
  expect(withLapsed(others, [key])).toEqual([...others, { ...key, state: 'gone', lapsed: true }]);
});
