/** The out-of-memory event of a container, which may arrive before or after the end of the container. */
import { expect, test } from 'vitest';
import { OomEvents } from '../../../../agent/engine/docker/container-events.ts';

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
