/**
 * The remote database, beyond the common contract (control-plane/store/db/remote.ts): network failures, and
 * secrets.
 */
import { createServer, type RequestListener, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Db } from '../../../control-plane/store/db/db.ts';
import { libsqlClient } from '../../../control-plane/store/db/libsql-client.ts';
import { pipeline } from '../../../control-plane/store/db/pipeline.ts';
import { openRemote } from '../../../control-plane/store/db/remote.ts';
import { portOf } from '../../support/hosts/port.ts';
import { type Sqld, startSqld } from '../../support/hosts/sqld.ts';
import { serving } from '../../support/tools/serving.ts';

const SECRET = 'secret-token';

/** On Node and on workerd. */
const protocols = [
  ['@libsql/client', libsqlClient],
  ['a pipeline', pipeline],
] as const;

describe.each(protocols)('a database on a server, by %s', (_name, protocol) => {
  let server: Sqld;
  let db: Db;
  const add = () => db.batch([{ sql: 'INSERT INTO hosts DEFAULT VALUES', args: [] }]);
  const count = async () => (await db.query('SELECT count(*) AS n FROM hosts'))[0]?.n;

  beforeEach(async () => {
    server = await startSqld();
    db = openRemote(server.url, SECRET, protocol);
    await db.batch([{ sql: 'CREATE TABLE hosts (id INTEGER PRIMARY KEY)', args: [] }]);
  });
  afterEach(async () => {
    await db.close();
    await server.stop();
  });

  test('a database on a server is "unavailable" while the server is down, and usable with its data when it is back, also if it was opened meanwhile', async () => {
    await add();
    await server.kill();
    const early = openRemote(server.url, undefined, protocol);
    const message = expect.stringMatching(/can't be reached$/);
    const error = { name: 'DatabaseError', kind: 'unavailable', message };
    await expect(early.query('SELECT 1')).rejects.toMatchObject(error);
    await expect(count()).rejects.toMatchObject(error);
    await expect(add()).rejects.toMatchObject(error);
    await server.restart();
    await add();
    expect(await count()).toBe(2);
    expect(await early.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a database on a server fails after the time-out, as "unavailable"', async () => {
    const hasty = openRemote(server.url, SECRET, protocol, { timeoutMs: 200 });
    const endless = 'WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT count(*) FROM r';
    await expect(hasty.query(endless)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^the database at 127\.0\.0\.1:\d+ did not answer within 200 ms$/),
    });
  });
});

describe.each(protocols)('an answer that does not come from a database, by %s', (_name, protocol) => {
  let server: Server;

  async function openAgainst(answer: RequestListener, timeoutMs = 500): Promise<Db> {
    server = createServer(answer);
    const port = await serving(server);
    return openRemote(`http://127.0.0.1:${port}`, SECRET, protocol, { timeoutMs });
  }

  test.each([
    [500, 'unavailable'],
    [503, 'unavailable'],
    [429, 'unavailable'],
    [401, 'other'],
    [403, 'other'],
    [404, 'other'],
  ])('an answer with HTTP %i is "%s"', async (status, kind) => {
    const db = await openAgainst((_, response) => response.writeHead(status).end());
    const error = { name: 'DatabaseError', kind, message: expect.stringContaining(String(status)) };
    await expect(db.query('SELECT 1')).rejects.toMatchObject(error);
  });

  test('a request that the server had no room for is sent again', async () => {
    const answers = [429, 429, 404];
    const answer: RequestListener = (_, response) => response.writeHead(answers.shift() ?? 200).end();
    const db = await openAgainst(answer, 120_000);
    await expect(db.query('SELECT 1')).rejects.toThrow('HTTP 404');
    expect(answers).toEqual([]);
  });

  test('an answer that breaks off or stops in the middle is "unavailable"', async () => {
    const db = await openAgainst((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{');
      setImmediate(() => response.destroy());
    });
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ kind: 'unavailable' });
    server.removeAllListeners('request').on('request', (_, response) => response.writeHead(200).write('{'));
    await expect(db.query('SELECT 1')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/did not answer within 500 ms$/),
    });
  });

  test('an answer that does not follow the protocol is an error of kind "other"', async () => {
    const db = await openAgainst((_, response) => response.end('<html>'));
    await expect(db.query('SELECT 1')).rejects.toMatchObject({ name: 'DatabaseError', kind: 'other' });
  });

  /** Answers a batch of one statement. Its steps of the numbers `locked` found the database locked. */
  const answerBatch =
    (locked: () => readonly number[]): RequestListener =>
    async (request, response) => {
      const { requests } = JSON.parse(await text(request)) as { requests: { type: string }[] };
      const failed = locked();
      const steps = [0, 1, 2, 3].map((step) => failed.includes(step));
      const done = { cols: [], rows: [], affected_row_count: 1 };
      const error = { message: 'SQLite error: database is locked', code: 'SQLITE_BUSY' };
      const result = {
        step_results: steps.map((isLocked) => (isLocked ? null : done)),
        step_errors: steps.map((isLocked) => (isLocked ? error : null)),
      };
      const results = requests.map(({ type }) => ({
        type: 'ok',
        response: { type, ...(type === 'batch' && { result }) },
      }));
      response.end(JSON.stringify({ results }));
    };
  const add = { sql: 'INSERT INTO hosts DEFAULT VALUES', args: [] };

  test('a batch is sent again while the database is too busy to begin its transaction', async () => {
    const answers = [[0], [0], []];
    const db = await openAgainst(answerBatch(() => answers.shift() ?? []));
    expect(await db.batch([add])).toEqual([1]);
    expect(answers).toEqual([]);
  });

  test('a batch that has begun, or whose transaction never begins, is "unavailable"', async () => {
    let requests = 0;
    let locked = [2];
    const db = await openAgainst(
      answerBatch(() => {
        requests += 1;
        return locked;
      }),
    );
    const error = { name: 'DatabaseError', kind: 'unavailable', message: 'database is locked' };
    await expect(db.batch([add])).rejects.toMatchObject(error);
    expect(requests).toBe(1);
    locked = [0];
    await expect(db.batch([add])).rejects.toMatchObject(error);
  });

  test('errors at several steps of one batch are one error, and nothing is left to fail later', async () => {
    const db = await openAgainst(answerBatch(() => [0, 1, 2, 3]));
    await expect(db.batch([add])).rejects.toMatchObject({ name: 'DatabaseError' });
    const skipped = await openAgainst(answerBatch(() => [1, 2]));
    await expect(skipped.batch([add])).rejects.toMatchObject({ name: 'DatabaseError' });
    // By now, Node has reported any unhandled rejection.
    await new Promise((resolve) => setImmediate(resolve));
  });

  test('a URL may have a path, a query and a fragment, of which only the path counts', async () => {
    const paths: (string | undefined)[] = [];
    const db = await openAgainst((request, response) => {
      paths.push(request.url);
      response.writeHead(404).end();
    });
    await expect(db.query('SELECT 1')).rejects.toThrow('HTTP 404');
    const port = portOf(server);
    for (const tail of ['/of/mine/', '/?x=1', '#f']) {
      const one = openRemote(`http://127.0.0.1:${port}${tail}`, SECRET, protocol);
      await expect(one.query('SELECT 1')).rejects.toThrow('HTTP 404');
    }
    expect(paths).toEqual(['/v2/pipeline', '/of/mine/v2/pipeline', '/v2/pipeline', '/v2/pipeline']);
  });

  test('an answer that repeats the token does not put it into the message', async () => {
    const db = await openAgainst((request, response) => {
      expect(request.headers.authorization).toBe(`Bearer ${SECRET}`);
      response.writeHead(401, { 'content-type': 'text/plain' }).end(request.headers.authorization);
    });
    const refusal = /^the database at \S+ refuses the token \(HTTP 401\)$/;
    await expect(db.query('SELECT 1')).rejects.toThrow(refusal);
  });
});

test.each([
  ['a token with a line break', 'http://127.0.0.1:1', `${SECRET}\n`],
  ['an empty token', 'http://127.0.0.1:1', ''],
  ['a URL with a password', `http://user:${SECRET}@127.0.0.1:1`, undefined],
  ['a URL with a token', `libsql://127.0.0.1:1?authToken=${SECRET}`, undefined],
  ['a file', 'file:berth.db', undefined],
  ['a WebSocket', 'ws://127.0.0.1:1', undefined],
  ['text that is not a URL', `${SECRET} `, undefined],
])('%s is refused at once, without its secrets', (_, url, token) => {
  const refused = { name: 'DatabaseError', kind: 'other', message: expect.not.stringContaining(SECRET) };
  expect(() => openRemote(url, token, pipeline)).toThrow(expect.objectContaining(refused));
});
