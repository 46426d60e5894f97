import { expect, test } from 'vitest';
import { LoginQueue, type WaitingLogin } from '../../../control-plane/guard/login-queue.ts';
import { fc } from '../../support/tools/random-cases.ts';

const login = (name: string, network: string, familiar = false): WaitingLogin => ({
  name,
  network,
  familiar,
});
const many = (count: number, of: (nth: number) => WaitingLogin) =>
  Array.from({ length: count }, (_, n) => of(n));
const queueOf = (logins: readonly WaitingLogin[], places = 1_000) => {
  const queue = new LoginQueue(places);
  for (const one of logins) queue.add(one);
  return queue;
};
/** How many logins have their turn before this one. */
function turnsBefore(queue: LoginQueue<WaitingLogin>, wanted: WaitingLogin): number {
  for (let turns = 0; ; turns++) {
    const next = queue.next();
    if (next === wanted) return turns;
    if (!next) throw new Error('the login does not wait');
  }
}

const ALICE = login('alice', 'a');
const guesses = many(10, (n) => login(`name ${n}`, 'evil'));

test.each([
  ['one network at many names', (n: number) => login(`name ${n}`, 'evil')],
  ['one network at her name', () => login('alice', 'evil')],
  ['many networks at one name', (n: number) => login('admin', `network ${n}`)],
  ['one neighbour of her network at one name', () => login('admin', 'a')],
])('H341: a login waits for three others at most, while there are 540 guesses of %s', (_, guess) => {
  const queue = queueOf([...many(540, guess), ALICE]);
  expect(turnsBefore(queue, ALICE)).toBeLessThanOrEqual(3);
});

test('H342: a familiar login comes before all guesses from unfamiliar addresses, and leaves each fourth turn to the others', () => {
  const familiar = login('alice', 'a', true);
  const queue = queueOf([...many(540, (n) => login(`name ${n}`, `network ${n}`)), familiar]);
  expect(turnsBefore(queue, familiar)).toBeLessThanOrEqual(1);
  const mostly = queueOf([...many(540, (n) => login(`name ${n}`, 'a', true)), login('bob', 'b')]);
  const order = many(8, () => mostly.next() as WaitingLogin).map(({ name }) => name);
  expect(order.indexOf('bob')).toBeLessThan(4);
  expect(order.filter((name) => name !== 'bob')).toHaveLength(7);
});

test('H343: the order depends on names only by whether they are equal', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.nat(5), fc.boolean())), fc.string(), (logins, prefix) => {
      const order = (nameOf: (nth: number) => string) => {
        const made = logins.map(([name, network, familiar]) => login(nameOf(name), `${network}`, familiar));
        const queue = queueOf(made);
        return made.map(() => made.indexOf(queue.next() as WaitingLogin));
      };
      expect(order((nth) => `${nth}`)).toEqual(order((nth) => `${prefix}${nth}`));
    }),
  );
});

test('H341: a login takes the place of the latest guess of the largest network, or at the largest name; where all are different, those that wait keep their places', () => {
  const queue = queueOf(guesses, 10);
  expect(queue.add(ALICE)).toBe(guesses[9]);
  const late = login('more', 'evil');
  expect(queue.add(late)).toBe(late);
  const atName = many(10, (n) => login('admin', `network ${n}`));
  expect(queueOf(atName, 10).add(ALICE)).toBe(atName[9]);
  const different = queueOf(
    many(10, (n) => login(`name ${n}`, `network ${n}`)),
    10,
  );
  expect(different.add(ALICE)).toBe(ALICE);
});
test('H342: unfamiliar logins take no place from familiar ones', () => {
  expect(queueOf(guesses, 10).add(login('alice', 'a', true))).toBeUndefined();
});
test('H341: each login that has a place gets one turn or leaves, whatever the others do', () => {
  const step = fc.tuple(fc.constantFrom('add', 'next', 'delete'), fc.nat(4), fc.nat(4), fc.boolean());
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new LoginQueue(8);
      const waiting = new Set<WaitingLogin>();
      const leave = (one: WaitingLogin | undefined) => one && expect(waiting.delete(one)).toBe(true);
      for (const [kind, name, network, familiar] of steps) {
        if (kind === 'next') leave(queue.next());
        else if (kind === 'delete') {
          const [first] = waiting;
          if (first) expect(queue.delete(first)).toBe(true);
          leave(first);
        } else {
          const made = login(`${name}`, `${network}`, familiar);
          waiting.add(made);
          leave(queue.add(made));
        }
        expect(waiting.size).toBeLessThanOrEqual(16);
      }
      for (let next = queue.next(); next; next = queue.next()) leave(next);
      expect(waiting.size).toBe(0);
    }),
  );
});
