/** What people name by its id or by its name: hosts, users, roles and quotas. */
import type { Collection } from '../../client/resources.ts';
import type { Form } from '../terminal/list.ts';
import type { Terminal } from '../terminal/terminal.ts';

const IS_ID = /^[1-9]\d{0,14}$/;

/** Digits are an id, all else is a name. Throws if nothing has this name. */
export async function idNamed<Item extends { id: number }>(
  collection: Collection<Item, object, unknown>,
  given: string,
): Promise<number> {
  if (IS_ID.test(given)) return Number(given);
  const { id } = (await collection.named(given)) ?? {};
  if (id !== undefined) return id;
  throw new Error(`There is no ${collection.kind} ${given}; berth ${collection.kind} ls lists them.`);
}

/** As `forEachId`, for items that are given by id or name. */
export const forEachNamed = <Item extends { id: number }>(
  terminal: Terminal,
  collection: Collection<Item, object, unknown>,
  all: readonly string[],
  form: Form,
  act: (id: number) => Promise<void>,
): Promise<void> => forEachOf(terminal, all, form, (given) => idNamed(collection, given), act);

/** As `forEachOf`, for ids. */
export const forEachId = (
  terminal: Terminal,
  ids: readonly number[],
  form: Form,
  act: (id: number) => Promise<void>,
): Promise<void> => forEachOf(terminal, ids, form, async (id) => id, act);

/**
 * Tries all, and prints each one that was done: as it was given, by its id, or all in one array at the end.
 * Throws then if one failed.
 */
async function forEachOf<Given extends string | number>(
  terminal: Terminal,
  all: readonly Given[],
  { json, quiet }: Form,
  idOf: (given: Given) => Promise<number>,
  act: (id: number) => Promise<void>,
): Promise<void> {
  const done: { id: number }[] = [];
  const failures: unknown[] = [];
  for (const given of all)
    try {
      const id = await idOf(given);
      await act(id);
      done.push({ id });
      if (!json) await terminal.out(`${quiet ? id : given}\n`);
    } catch (error) {
      if (all.length > 1) terminal.say(`${given}: ${error instanceof Error ? error.message : error}`);
      failures.push(error);
    }
  if (json) await terminal.out(`${JSON.stringify(done)}\n`);
  if (failures.length > 0)
    throw all.length === 1 ? failures[0] : new Error(`${failures.length} of ${all.length} failed.`);
}
