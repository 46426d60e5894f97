/**
 * Speaks to a libSQL server by its HTTP protocol (Hrana 2, `POST v2/pipeline`), on workerd: one request
 * carries any number of reads, or one transaction (STORE-14).
 */
import {
  type Argument,
  bound,
  DatabaseError,
  errorKind,
  type Row,
  type Statement,
  type Value,
} from './db.ts';
import type { Protocol, Written } from './remote.ts';

type WireValue =
  | { type: 'null' }
  | { type: 'integer'; value: string }
  | { type: 'float'; value: number }
  | { type: 'text'; value: string }
  | { type: 'blob'; base64: string };

interface WireError {
  message: string;
  code?: string | null;
}

interface StatementResult {
  cols: { name: string | null }[];
  rows: WireValue[][];
  affected_row_count: number;
}

export interface BatchResult {
  step_results: (StatementResult | null)[];
  step_errors: (WireError | null)[];
}

export type WireResult =
  | { type: 'ok'; response: { type: string; result?: unknown } }
  | { type: 'error'; error: WireError };

const CLOSE = { type: 'close' };

export const pipeline: Protocol = (send) => ({
  async read(reads) {
    return readAnswer(await send(readRequest(reads)), reads);
  },
  async write(statements, wantsRows) {
    return batchAnswer(await send(batchRequest(statements, wantsRows), isTooBusy), statements);
  },
});

/** Request for the rows of each statement. Each runs by itself. */
const readRequest = (statements: readonly Statement[]): string =>
  JSON.stringify({
    requests: [...statements.map((one) => ({ type: 'execute', stmt: wireStatement(one, true) })), CLOSE],
  });

/** The rows of each statement of a `readRequest`. Throws DatabaseError if one of them failed. */
const readAnswer = (answer: string, statements: readonly Statement[]): Row[][] => {
  const results = resultsOf(answer);
  return statements.map((_, at) => rowsOf(responseOf(results[at], 'execute') as StatementResult));
};

/** Request for one write transaction, with the rows that its statements return if `wantsRows`. */
function batchRequest(statements: readonly Statement[], wantsRows: boolean): string {
  const begun = { stmt: { sql: 'BEGIN IMMEDIATE' } };
  const steps = [...statements.map((one) => wireStatement(one, wantsRows)), { sql: 'COMMIT' }].map(
    (stmt, at) => ({
      stmt,
      // Each step runs only after the one before it.
      condition: { type: 'ok', step: at },
    }),
  );
  const failed = { type: 'not', cond: { type: 'ok', step: steps.length } };
  const rolledBack = { stmt: { sql: 'ROLLBACK' }, condition: failed };
  return JSON.stringify({
    requests: [{ type: 'batch', batch: { steps: [begun, ...steps, rolledBack] } }, CLOSE],
  });
}

/** What each statement of a `batchRequest` did. Throws DatabaseError if nothing was committed. */
function batchAnswer(answer: string, statements: readonly Statement[]): Written[] {
  const result = responseOf(resultsOf(answer)[0], 'batch') as BatchResult;
  const error = result.step_errors.slice(0, statements.length + 2).find((one) => one !== null);
  if (error) throw errorOf(error);
  return statements.map((_, at) => {
    const step = result.step_results[at + 1];
    return { affected: step?.affected_row_count ?? 0, rows: step ? rowsOf(step) : [] };
  });
}

/** Whether an answer reports that its transaction never began, since others wrote. */
export function isTooBusy(answer: string): boolean {
  // An answer is only parsed twice if it has this code.
  if (!answer.includes('SQLITE_BUSY')) return false;
  // `@libsql/client` sends the texts of statements before their batch.
  const result = parsed(answer)?.find((one) => one.type === 'ok' && one.response.type === 'batch');
  if (result?.type !== 'ok') return false;
  const [begun] = (result.response.result as BatchResult | undefined)?.step_errors ?? [];
  return begun?.code?.startsWith('SQLITE_BUSY') ?? false;
}

const wireStatement = ({ sql, args }: Statement, want_rows: boolean) => ({
  sql,
  args: args.map(encoded),
  want_rows,
});

export function resultsOf(answer: string): WireResult[] {
  const results = parsed(answer);
  if (!results) throw notUnderstood();
  return results;
}

/** Returns undefined unless the text is a response of a libSQL server. */
function parsed(answer: string): WireResult[] | undefined {
  try {
    const { results } = JSON.parse(answer) as { results?: WireResult[] };
    return Array.isArray(results) ? results : undefined;
  } catch {
    return undefined;
  }
}

function responseOf(result: WireResult | undefined, type: 'execute' | 'batch'): unknown {
  if (result?.type === 'error') throw errorOf(result.error);
  if (result?.response.type !== type) throw notUnderstood();
  return result.response.result;
}

function rowsOf({ cols, rows }: StatementResult): Row[] {
  return rows.map((values) => {
    const row: Row = {};
    for (const [at, { name }] of cols.entries()) row[name ?? ''] = decoded(values[at]);
    return row;
  });
}

function decoded(value: WireValue | undefined): Value {
  switch (value?.type) {
    case 'text':
    case 'float':
      return value.value;
    case 'null':
      return null;
    case 'integer': {
      const number = Number(value.value);
      if (Number.isSafeInteger(number)) return number;
      throw new DatabaseError('other', `the database holds an integer beyond 2^53: ${value.value}`);
    }
    default:
      throw new DatabaseError('other', `the database sent a value of the type ${value?.type}`);
  }
}

function encoded(argument: Argument): WireValue {
  const value = bound(argument);
  if (value === null) return { type: 'null' };
  if (typeof value === 'string') return { type: 'text', value };
  if (typeof value === 'bigint') return { type: 'integer', value: String(value) };
  if (typeof value === 'number') return { type: 'float', value };
  return { type: 'blob', base64: Buffer.from(value).toString('base64') };
}

/** Each layer of the server puts its code in front of the message. */
export const errorOf = ({ code, message }: WireError): DatabaseError =>
  new DatabaseError(errorKind(code ?? ''), message.replace(/^SQLite error: /, ''), {
    cause: new Error(`${code}: ${message}`),
  });

export const notUnderstood = (cause?: unknown) =>
  new DatabaseError('other', 'the answer is not one of a libSQL server', { cause });
