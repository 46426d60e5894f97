/** The event that a container ran out of memory, which may come before or after its end. */
import { expect, test } from 'vitest';
import { OomEvents } from '../../../../agent/engine/docker/oom-events.ts';

test('C10: an event from before the end is known at once', async () => {
  const events = new OomEvents();
  events.add('one');
  expect(await events.arrived('one', 0)).toBe(true);
});

test('C10: an event that comes after the end is waited for, by everybody who asks', async () => {
  const events = new OomEvents();
  const answers = Promise.all([events.arrived('one', 0), events.arrived('one', 0)]);
  events.add('one');
  expect(await answers).toEqual([true, true]);
});

test('C10: an event of another container says nothing, and one that never comes is waited for no longer than it can take', async () => {
  const events = new OomEvents();
  const answer = events.arrived('one', 900);
  events.add('other');
  expect(await answer).toBe(false);
});

test('C10: what ended long ago is answered at once, also by a clock that is wrong', async () => {
  const events = new OomEvents();
  expect(await events.arrived('one', 10_000)).toBe(false);
  const answer = events.arrived('one', -1e12);
  events.add('one');
  expect(await answer).toBe(true);
});

test('C10: a container that is gone is forgotten', async () => {
  const events = new OomEvents();
  events.add('one');
  events.forget('one');
  expect(await events.arrived('one', 10_000)).toBe(false);
});
