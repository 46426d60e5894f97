/**
 * Speaks to a libSQL server by `@libsql/client`, on Node. On workerd the client takes too much processor time
 * (STORE-14).
 */
import {
  type Client,
  createClient,
  type InStatement,
  LibsqlError,
  type ResultSet,
} from '@libsql/client/http';
import { bound, DatabaseError, type Row, type Statement, type Value } from './db.ts';
import {
  type BatchResult,
  errorOf,
  isTooBusy,
  notUnderstood,
  resultsOf,
  type WireResult,
} from './pipeline.ts';
import type { Protocol, Send } from './remote.ts';

export const libsqlClient: Protocol = (send) => {
  const reads = clientOf(send);
  const writes = clientOf((body) => send(body, isTooBusy));
  return {
    async read(statements) {
      const results = await (statements.length === 1
        ? Promise.all(statements.map((one) => reads.execute(inStatement(one))))
        : reads.batch(statements.map(inStatement), 'read')
      ).catch(rethrow);
      return results.map(rowsOf);
    },
    async write(statements, wantsRows) {
      const results = await writes.batch(statements.map(inStatement), 'write').catch(rethrow);
      return results.map((result) => ({
        affected: result.rowsAffected,
        rows: wantsRows ? rowsOf(result) : [],
      }));
    },
  };
};

const clientOf = (send: Send): Client =>
  createClient({
    // Not used: `send` has the server's address.
    url: 'http://database',
    intMode: 'bigint',
    // The server bounds its requests, and `send` repeats those that it had no room for.
    concurrency: Number.POSITIVE_INFINITY,
    // The client uses only these two members of a response.
    fetch: async (request: Request) => {
      const results = resultsOf(await send(await request.text()));
      if (!results.every(isInOrder)) throw notUnderstood();
      return { ok: true, json: async () => ({ results }) };
    },
  });

/**
 * Whether only the rollback ran after the step that failed. The client leaves any further error unhandled,
 * which would end this process.
 */
function isInOrder(result: WireResult): boolean {
  if (result.type !== 'ok' || result.response.type !== 'batch') return true;
  const { step_errors, step_results } = result.response.result as BatchResult;
  const failed = step_errors.findIndex((error) => error !== null);
  return (
    failed === -1 ||
    (step_results.slice(0, failed).every((done) => done !== null) &&
      step_errors.slice(failed + 1, -1).every((error) => error === null))
  );
}

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
