/** Batches between a gateway and its coordinator: what shares one, what is counted, and what is given up. */
import { beforeEach, expect, test } from 'vitest';
import { BatchSender } from '../../../../control-plane/coordinator/gateways/batch-sender.ts';
import type { Portion } from '../../../../control-plane/coordinator/gateways/portion.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const CLOSING = { code: 4000, reason: 'bye' };
const MOST = 4 * 1024 * 1024;

let clock: TestClock;
let calls: { batch: Portion<string>[]; answer(rejected?: string[]): void; fail(): void }[];
let events: string[];
let attempts: unknown[];
let sender: BatchSender<string>;

beforeEach(() => {
  [clock, calls, events, attempts] = [new TestClock(), [], [], []];
  sender = new BatchSender<string>({
    ...{ clock, to: 'there', log: (_, fields) => void attempts.push(fields?.attempt) },
    send: (batch) =>
      new Promise((resolve, fail) =>
        calls.push({ batch, answer: (rejected = []) => resolve(rejected), fail: () => fail(new Error()) }),
      ),
    delivered: (...event) => events.push(`delivered ${event.join(' ')}`),
    lost: (...event) => events.push(`lost ${event.join(' ')}`),
    ended: (...event) => events.push(`ended ${event.join(' ')}`),
  });
});

const turns = () => new Promise(setImmediate);
async function answer(rejected?: string[]) {
  await turns();
  calls.at(-1)?.answer(rejected);
  await turns();
}
const counts = (...connections: string[]) => connections.map((one) => sender.count(one));
const portions = (nth: number) => calls[nth]?.batch;

test('P171: what is added in one turn shares a batch, and what is added meanwhile the next one, whose entries follow', async () => {
  sender.begin('a');
  sender.begin('b', 7);
  sender.add('a', 'one', 3);
  sender.add('b', 'two', 3);
  sender.add('unknown', 'three', 5);
  expect(sender).toMatchObject({ isIdle: false, waitingLength: 6 });
  expect(counts('a', 'b')).toEqual([1, 8]);
  await turns();
  sender.add('a', 'four', 4);
  expect([calls.length, sender.waitingLength, ...counts('a', 'unknown')]).toEqual([1, 10, 2, 0]);
  expect(portions(0)).toEqual([
    { connection: 'a', first: 0, entries: ['one'] },
    { connection: 'b', first: 7, entries: ['two'] },
  ]);
  await answer();
  expect(portions(1)).toEqual([{ connection: 'a', first: 1, entries: ['four'] }]);
  expect([sender.waitingLength, sender.isIdle]).toEqual([4, false]);
  await answer();
  expect([sender.waitingLength, sender.isIdle, calls.length]).toEqual([0, true, 2]);
  expect(events).toEqual(['delivered a 1', 'delivered b 8', 'delivered a 2']);
});

test('P177: what may wait is sent after its time, or before with whatever else is sent, and once', async () => {
  sender.begin('a');
  sender.add('a', 'one', 1, 500);
  clock.pass(300);
  sender.add('a', 'two', 1, 500);
  clock.pass(199);
  await turns();
  expect(calls).toEqual([]);
  clock.pass(1);
  await turns();
  expect(portions(0)).toEqual([{ connection: 'a', first: 0, entries: ['one', 'two'] }]);
  sender.add('a', 'three', 1, 500);
  await answer();
  expect(portions(1)).toMatchObject([{ entries: ['three'] }]);
  await answer();
  sender.add('a', 'four', 1, 500);
  sender.add('a', 'five', 1);
  await answer();
  clock.pass(500);
  await turns();
  expect(calls).toHaveLength(3);
  sender.add('a', 'six', 1, 500);
  clock.pass(500);
  await turns();
  expect(calls).toHaveLength(4);
});

test('P171: a batch has at most 4 MiB, or one entry, and an end comes after the last entry of its connection', async () => {
  for (const connection of ['a', 'b']) sender.begin(connection);
  const lengths = [MOST - 2, 2, 1];
  for (const [nth, length] of lengths.entries()) sender.add('a', `${nth}`, length);
  sender.add('a', 'long', 2 * MOST);
  sender.close('a', CLOSING);
  sender.add('b', 'other', 1);
  for (let n = 0; n < 4; n++) await answer();
  expect(calls.map(({ batch }) => batch)).toEqual([
    [{ connection: 'a', first: 0, entries: ['0', '1'] }],
    [{ connection: 'a', first: 2, entries: ['2'] }],
    [{ connection: 'a', first: 3, entries: ['long'], closing: CLOSING }],
    [{ connection: 'b', first: 0, entries: ['other'] }],
  ]);
  expect(events.slice(2, 4)).toEqual(['delivered a 4', 'ended a true']);
  expect([sender.has('a'), sender.has('b'), sender.waitingLength]).toEqual([false, true, 0]);
});

test('P171: an end instead of what waits discards that, and a connection that was forgotten sends nothing', async () => {
  for (const connection of ['a', 'b']) sender.begin(connection);
  sender.add('a', 'one', 10);
  sender.add('b', 'two', 20);
  sender.close('a', CLOSING, true);
  expect(sender.waitingLength).toBe(20);
  sender.forget('b');
  expect([sender.waitingLength, sender.has('b')]).toEqual([0, false]);
  for (const gone of ['b', 'unknown']) sender.close(gone, CLOSING);
  await answer();
  expect(calls.map(({ batch }) => batch)).toEqual([
    [{ connection: 'a', first: 0, entries: [], closing: CLOSING }],
  ]);
  expect([events.at(-1), sender.isIdle]).toEqual(['ended a true', true]);
});

test('P172: a connection that the receiver rejects is lost, with what waits of it, and no other', async () => {
  for (const connection of ['a', 'b']) sender.begin(connection);
  for (const connection of ['a', 'b']) sender.add(connection, 'one', 1);
  await turns();
  sender.add('a', 'two', 5);
  await answer(['a']);
  expect(events).toEqual(['lost a true', 'delivered b 1']);
  expect([sender.has('a'), sender.waitingLength, sender.isIdle, calls.length]).toEqual([false, 0, true, 1]);
});

test('P173: a batch without an answer within 10 s, or that fails, is sent again after 200 ms and then 400 ms, and given up then', async () => {
  sender.begin('a');
  sender.begin('b');
  sender.add('a', 'one', 3);
  sender.close('b', CLOSING);
  await turns();
  clock.pass(9_999);
  await turns();
  expect(attempts).toEqual([]);
  clock.pass(1);
  await turns();
  expect(attempts).toEqual([1]);
  for (const [nth, pauseMs] of [200, 400].entries()) {
    clock.pass(pauseMs - 1);
    await turns();
    expect(calls).toHaveLength(nth + 1);
    clock.pass(1);
    await turns();
    expect(calls).toHaveLength(nth + 2);
    calls.at(-1)?.fail();
    await turns();
  }
  expect(new Set(calls.map(({ batch }) => batch)).size).toBe(1);
  expect(events).toEqual(['lost a false', 'lost b false', 'ended b false']);
  expect([attempts, sender.waitingLength, sender.isIdle]).toEqual([[1, 2, 3], 0, true]);
});
