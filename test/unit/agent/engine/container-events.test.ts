/** The out-of-memory event of a container, which may arrive before or after the end of the container. */
import { expect, test } from 'vitest';
import { memoryKills, OomEvents } from '../../../../agent/engine/docker/container-events.ts';

test('C10: an event from before the end is reported at once', async () => {
  const events = new OomEvents();
  events.add('one');
  expect(await events.arrived('one', 0)).toBe(true);
});

test('C10: an event after the end is awaited by every caller', async () => {
  const events = new OomEvents();
  const answers = Promise.all([events.arrived('one', 0), events.arrived('one', 0)]);
  events.add('one');
  expect(await answers).toEqual([true, true]);
});

test('C10: an event of another container is ignored, and a missing event is awaited no longer than it can take', async () => {
  const events = new OomEvents();
  const answer = events.arrived('one', 900);
  events.add('other');
  expect(await answer).toBe(false);
});

test('C10: the answer for a container that ended long ago comes at once, even with a wrong clock', async () => {
  const events = new OomEvents();
  expect(await events.arrived('one', 10_000)).toBe(false);
  const answer = events.arrived('one', -1e12);
  events.add('one');
  expect(await answer).toBe(true);
});

test('C10: the event of a removed container is discarded', async () => {
  const events = new OomEvents();
  events.add('one');
  events.forget('one');
  expect(await events.arrived('one', 10_000)).toBe(false);
});

const ended = (exitCode: number, outOfMemory = false) => ({
  ...{ service: 1, generation: 1, id: 'one', state: 'exited' as const },
  ...{ exitCode, outOfMemory, finishedAtMs: 100_000 },
});
type Ended = ReturnType<typeof ended>;

const causes: [string, Ended, (events: OomEvents) => void, number | undefined, object][] = [
  [
    'the last process was killed for lack of memory',
    ended(137),
    (events) => events.add('one', 99_900),
    3,
    { outOfMemory: true },
  ],
  [
    'the event came after the end',
    ended(137, true),
    (events) => events.add('one', 100_400),
    undefined,
    { outOfMemory: true },
  ],
  [
    'another process was killed for lack of memory long before SIGKILL',
    ended(137, true),
    (events) => events.add('one', 92_000),
    3,
    { outOfMemory: false, memoryKill: 'other-process' },
  ],
  [
    'another process was killed for lack of memory before another exit code',
    ended(1, true),
    (events) => events.add('one', 99_900),
    3,
    { outOfMemory: false, memoryKill: 'other-process' },
  ],
  [
    'the engine was requested to kill the container',
    ended(137),
    (events) => events.signalled('one', '9'),
    3,
    { outOfMemory: false, memoryKill: 'none' },
  ],
  [
    'the kernel has killed nothing for lack of memory',
    ended(137),
    () => {},
    2,
    { outOfMemory: false, memoryKill: 'none' },
  ],
  [
    'the engine was requested to kill it after another process was killed for lack of memory',
    ended(137),
    (events) => {
      events.add('one', 99_900);
      events.signalled('one', 'SIGKILL');
    },
    3,
    { outOfMemory: false, memoryKill: 'other-process' },
  ],
  [
    'there was an event, and the kernel has killed nothing since',
    ended(137),
    (events) => events.add('one', 99_900),
    2,
    { outOfMemory: false, memoryKill: 'other-process' },
  ],
  ['the kernel has killed something', ended(137), () => {}, 3, { outOfMemory: false }],
  [
    'the engine sent a signal that does not kill',
    ended(137),
    (events) => events.signalled('one', '15'),
    undefined,
    { outOfMemory: false },
  ],
  ['only the flag is left of the event', ended(137, true), () => {}, 3, { outOfMemory: false }],
];

test.each(causes)('P326: what is reported if %s', async (_cause, container, happens, kills, reported) => {
  const events = new OomEvents();
  events.ran('one', 2);
  happens(events);
  const { service, generation, id, state, exitCode, finishedAtMs } = container;
  expect(await events.explain(container, kills)).toEqual({
    ...{ service, generation, id, state, exitCode, finishedAtMs },
    ...reported,
  });
});

test('P326: nothing is held of containers that are gone', async () => {
  const events = new OomEvents();
  for (const id of ['one', 'gone']) {
    events.add(id, 99_900);
    events.ran(id, 2);
  }
  const present = events.listing();
  events.add('new', 99_900);
  present(new Set(['one']));
  const found = await Promise.all(['one', 'gone', 'new'].map((id) => events.arrived(id, 10_000)));
  expect(found).toEqual([true, false, true]);
});

test('P326: the kernel counts what it has killed for lack of memory', async () => {
  expect(await memoryKills()).toEqual(expect.any(Number));
});
