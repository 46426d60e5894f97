import { expect, test } from 'vitest';
import { ReadTurns } from '../../../control-plane/guard/read-turns.ts';

/** A list of texts, each made only when the test says so. */
function list(made: string[], name: string) {
  const waiting: (() => void)[] = [];
  const texts = (async function* () {
    for (let n = 1; ; n++) {
      await new Promise<void>((resolve) => waiting.push(resolve));
      made.push(`${name}${n}`);
      yield 'x';
    }
  })();
  const go = async () => {
    waiting.shift()?.();
    await settled();
  };
  return { texts, go };
}

type Texts = AsyncGenerator<string>;
const lengthOf = ({ value }: IteratorResult<string>) => value?.length ?? 0;
const begin = (turns: ReadTurns, userId: number, texts: Texts) =>
  turns.run(userId, () => texts.next(), lengthOf);
const goOn = (turns: ReadTurns, userId: number, texts: Texts) =>
  turns.goOn(userId, () => texts.next(), lengthOf);
const settled = () => new Promise(setImmediate);

test('H380: a user has two long reads at a time, and other users do not wait for them', async () => {
  const turns = new ReadTurns(() => 0);
  const made: string[] = [];
  const own = ['a', 'b', 'c'].map((name) => list(made, name));
  const other = list(made, 'other');
  const all = [...own.map(({ texts }) => begin(turns, 1, texts)), begin(turns, 2, other.texts)];
  await settled();
  await own[2]?.go();
  await other.go();
  expect(made).toEqual(['other1']);
  await own[0]?.go();
  await own[2]?.go();
  expect(made).toEqual(['other1', 'a1', 'c1']);
  await own[1]?.go();
  await Promise.all(all);
});

test('H380: a user with 1,000 reads waiting is refused another one, and goes on with those that have begun', async () => {
  const turns = new ReadTurns(() => 0);
  const made: string[] = [];
  const begun = list(made, 'begun');
  const first = begin(turns, 1, begun.texts);
  await settled();
  await begun.go();
  await first;
  const running = [list(made, 'a'), list(made, 'b')];
  const all = running.map(({ texts }) => begin(turns, 1, texts));
  const waiting = Array.from({ length: 1_000 }, () => list(made, 'w'));
  all.push(...waiting.map(({ texts }) => begin(turns, 1, texts)));
  await settled();
  await expect(begin(turns, 1, list(made, 'late').texts)).rejects.toMatchObject({
    code: 'too-many',
    message: 'You have 1000 long reads waiting, which is the limit. Send one after the other.',
  });
  const more = goOn(turns, 1, begun.texts);
  for (const one of [...running, ...waiting, begun]) await one.go();
  expect((await more).done).toBe(false);
  await Promise.all(all);
});

test.each([
  ['after a long text others run before the next one is made', false, ['text', 'another request', 'text']],
  ['a text that is read after others could run does not wait for them again', true, ['text', 'text']],
])('H380: %s', async (_, couldOthersRun, expected) => {
  const turns = new ReadTurns(() => 0);
  const order: string[] = [];
  const texts = (async function* () {
    for (;;) {
      order.push('text');
      yield 'x'.repeat(70_000);
    }
  })();
  await begin(turns, 1, texts);
  if (couldOthersRun) await new Promise((resolve) => setTimeout(resolve, 2));
  setTimeout(() => order.push('another request'), 0);
  await goOn(turns, 1, texts);
  expect(order).toEqual(expected);
});
