/** The out-of-memory event of a container, which may arrive before or after the end of the container. */
import { expect, test } from 'vitest';
import { memoryKills, OomEvents } from '../../../../agent/engine/docker/container-events.ts';

test('C10: an event is reported at once if it came before the end, else awaited by every caller, and by none of another container', async () => {
  const events = new OomEvents();
  const answers = Promise.all([events.arrived('one', 0), events.arrived('one', 0)]);
  const missing = events.arrived('other', 900);
  events.add('one');
  expect(await answers).toEqual([true, true]);
  expect(await events.arrived('one', 0)).toBe(true);
  expect(await missing).toBe(false);
  events.forget('one');
  expect(await events.arrived('one', 10_000)).toBe(false);
});

test('C10: the answer for a container that ended long ago comes at once, even with a wrong clock', async () => {
  const events = new OomEvents();
  expect(await events.arrived('one', 10_000)).toBe(false);
  const answer = events.arrived('one', -1e12);
  events.add('one');
  expect(await answer).toBe(true);
});

const END_MS = 100_000;
const [itself, none, other] = [
  { outOfMemory: true },
  { outOfMemory: false, memoryKill: 'none' },
  { outOfMemory: false, memoryKill: 'other-process' },
];
/** What the engine told of the container, in order: the time of an event, or a signal. */
type Told = (number | string)[];

test.each<[string, [exitCode: number, flag?: true], Told, kernelCount: number | undefined, object]>([
  ['the last process was killed for lack of memory', [137], [99_900], 3, itself],
  ['the event came after the end', [137, true], [100_400], undefined, itself],
  ['another process was killed for lack of memory long before SIGKILL', [137, true], [92_000], 3, other],
  ['another process was killed for lack of memory before another exit code', [1, true], [99_900], 3, other],
  ['the engine was requested to kill the container', [137], ['9'], 3, none],
  ['the kernel has killed nothing for lack of memory', [137], [], 2, none],
  ['the engine was requested to kill it after another process was', [137], [99_900, 'SIGKILL'], 3, other],
  ['there was an event, and the kernel has killed nothing since', [137], [99_900], 2, other],
  ['the kernel has killed something', [137], [], 3, { outOfMemory: false }],
  ['the engine sent a signal that does not kill', [137], ['15'], undefined, { outOfMemory: false }],
  ['only the flag is left of the event', [137, true], [], 3, { outOfMemory: false }],
])('P326: what is reported if %s', async (_, [exitCode, outOfMemory = false], told, kills, reported) => {
  const events = new OomEvents();
  events.ran('one', 2);
  for (const one of told)
    if (typeof one === 'number') events.add('one', one);
    else events.signalled('one', one);
  const of = { service: 1, generation: 1, id: 'one', state: 'exited' as const };
  const container = { ...of, exitCode, outOfMemory, finishedAtMs: END_MS };
  expect(await events.explain(container, kills)).toEqual({ ...container, ...reported });
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
