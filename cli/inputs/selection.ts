/** Which executions a command is for: ids as arguments or on standard input, or those that a filter finds. */
import type { Berth, Execution, ExecutionFilter } from '../../client/berth.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { idOf } from './arguments.ts';

const STANDARD_INPUT = '-';
/** Ids of one command. */
const MAX_IDS = 100_000;

/**
 * Each id once, and of what a filter finds those that `isWanted`. Throws if the ids can't be read, or if it
 * is not stated which executions are meant.
 */
export async function selectedIds(
  terminal: Terminal,
  berth: Berth,
  given: readonly string[],
  filters: readonly string[],
  isWanted: (execution: Execution) => boolean = () => true,
): Promise<number[]> {
  if (given.length > 0 && filters.length > 0) throw new Error('Give ids or --filter, not both.');
  if (filters.length > 0)
    return (await berth.executions(filterOf(filters))).filter(isWanted).map(({ id }) => id);
  if (given.length === 0)
    throw new Error(
      `Name executions by their ids, ${STANDARD_INPUT} for ids on standard input, or --filter.`,
    );
  const texts = given.filter((text) => text !== STANDARD_INPUT);
  if (texts.length < given.length) texts.push(...(await terminal.input()).split(/\s+/).filter(Boolean));
  if (texts.length > MAX_IDS)
    throw new Error(`These are ${texts.length} ids; at most ${MAX_IDS} are taken at once.`);
  return [...new Set(texts.map(idOf))];
}

/** Filters of the API, as `status=queued`. The API refuses those that it does not have. */
function filterOf(filters: readonly string[]): ExecutionFilter {
  const query: Record<string, string> = {};
  for (const filter of filters) {
    const [name = '', ...value] = filter.split('=');
    if (name === '' || value.length === 0 || value.join('=') === '')
      throw new Error(`${filter} is not a filter; give one such as status=queued or name=nightly.`);
    if (Object.hasOwn(query, name)) throw new Error(`The filter ${name} is given twice.`);
    query[name] = value.join('=');
  }
  return query;
}
