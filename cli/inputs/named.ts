/** What people name by its id or by its name: hosts, users, roles and quotas. */

import type { Collection } from '../../client/resources.ts';
import { mostLike } from '../../shared/settings/similar.ts';
import type { Form } from '../terminal/list.ts';
import { jsonOf } from '../terminal/list.ts';
import { onOneLine } from '../terminal/table.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { sentenceOf } from './refusals.ts';

const IS_ID = /^[1-9]\d{0,14}$/;

/** Digits are an id, all else is a name. Throws if nothing has this name. */
export async function idNamed<Item extends { id: number }>(
  collection: Collection<Item, object, unknown>,
  given: string,
): Promise<number> {
  if (IS_ID.test(given)) return Number(given);
  const { id } = (await collection.named(given)) ?? {};
  if (id !== undefined) return id;
  const all = await collection.list().catch(() => []);
  const like = mostLike(
    given,
    all.map((one) => String((one as Record<string, unknown>)[collection.nameField])),
  );
  const meant = like === undefined ? '' : ` Did you mean ${like}?`;
  throw new Error(`There is no ${collection.kind} ${given}; berth ${collection.kind} ls lists them.${meant}`);
}

/** As `forEachId`, for items that are given by id or name. */
export const forEachNamed = <Item extends { id: number }>(
  terminal: Terminal,
  collection: Collection<Item, object, unknown>,
  all: readonly string[],
  form: Form,
  act: (id: number) => Promise<void>,
): Promise<void> => forEachOf(terminal, all, form, (given) => idNamed(collection, given), act);

/** Ids that are worked on at a time. */
const AT_ONCE = 8;

/** As `forEachOf`, for ids. */
export const forEachId = (
  terminal: Terminal,
  ids: readonly number[],
  form: Form,
  act: (id: number) => Promise<void>,
): Promise<void> => forEachOf(terminal, ids, form, async (id) => id, act, AT_ONCE);

/**
 * Tries all, `atOnce` at a time, and prints each one that was done: as it was given, by its id, or all in one
 * array at the end. Then it names those that failed, and throws if there are any.
 */
async function forEachOf<Given extends string | number>(
  terminal: Terminal,
  all: readonly Given[],
  { json, quiet }: Form,
  idOf: (given: Given) => Promise<number>,
  act: (id: number) => Promise<void>,
  atOnce = 1,
): Promise<void> {
  const done: { id: number }[] = [];
  const failures: { given: Given; reason: unknown }[] = [];
  const tried = async (given: Given) => {
    const id = await idOf(given);
    await act(id);
    return id;
  };
  for (let at = 0; at < all.length; at += atOnce) {
    const some = all.slice(at, at + atOnce);
    for (const [n, outcome] of (await Promise.allSettled(some.map(tried))).entries()) {
      const given = some[n] as Given;
      if (outcome.status === 'rejected') failures.push({ given, reason: outcome.reason });
      else {
        done.push({ id: outcome.value });
        if (!json) await terminal.out(`${quiet ? outcome.value : given}\n`);
      }
    }
  }
  if (json) await terminal.out(jsonOf(done));
  if (all.length === 1 && failures[0]) throw failures[0].reason;
  for (const { given, reason } of failures) terminal.say(onOneLine(`${given}: ${sentenceOf(reason)}`));
  if (failures.length > 0) throw new Error(`${failures.length} of ${all.length} failed.`);
}
