/**
 * Speaks to a libSQL server by `@libsql/client`, on Node. On workerd the client takes too much processor time
 * (STORE-14).
 */
import { createClient, type InStatement, LibsqlError, type ResultSet } from '@libsql/client/http';
import { bound, DatabaseError, type Row, type Statement, type Value } from './db.ts';
import { errorOf, isTooBusy, notUnderstood } from './pipeline.ts';
import type { Protocol } from './remote.ts';

export const libsqlClient: Protocol = (url, send) => {
  const client = createClient({
    url,
    intMode: 'bigint',
    // The server bounds its requests, and `send` repeats those that it had no room for.
    concurrency: Number.POSITIVE_INFINITY,
    fetch: async (request: Request) =>
      new Response(await send(await request.text(), isTooBusy), {
        headers: { 'content-type': 'application/json' },
      }),
  });
  const read = (reads: readonly Statement[]) =>
    reads.length === 1
      ? Promise.all(reads.map((one) => client.execute(inStatement(one))))
      : client.batch(reads.map(inStatement), 'read');
  return {
    async read(reads) {
      const results = await read(reads).catch(rethrow);
      return results.map(rowsOf);
    },
    async write(statements) {
      const results = await client.batch(statements.map(inStatement), 'write').catch(rethrow);
      return results.map((result) => ({ affected: result.rowsAffected, rows: rowsOf(result) }));
    },
  };
};

const inStatement = ({ sql, args }: Statement): InStatement => ({ sql, args: args.map(bound) });

/** Errors of `send` pass the client unchanged. */
function rethrow(cause: unknown): never {
  if (cause instanceof DatabaseError) throw cause;
  if (!(cause instanceof LibsqlError) || cause.code === 'HRANA_PROTO_ERROR') throw notUnderstood(cause);
  // The client puts the code in front of the message, once or twice.
  throw errorOf({ code: cause.code, message: cause.message.replace(/^(?:[A-Z_]+: )+/, '') });
}

const rowsOf = ({ columns, rows }: ResultSet): Row[] =>
  rows.map((values) => Object.fromEntries(columns.map((name, at) => [name, fieldOf(values[at])])));

function fieldOf(value: unknown): Value {
  if (typeof value === 'bigint') {
    const number = Number(value);
    if (Number.isSafeInteger(number)) return number;
    throw new DatabaseError('other', `the database holds an integer beyond 2^53: ${value}`);
  }
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new DatabaseError('other', `the database sent a value of the type ${typeof value}`);
}
