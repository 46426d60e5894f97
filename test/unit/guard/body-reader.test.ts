import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { BodyReader } from '../../../control-plane/guard/body-reader.ts';
import { descriptionSteps } from '../../../control-plane/operations/executions/submission-input.ts';
import { application, service } from '../../support/fixtures/applications.ts';

const MIB = 2 ** 20;
const bodies = new BodyReader({
  addressOf: (c) => c.req.header('address'),
  memoryBytes: 4 * MIB,
  noteBody: () => {},
  nowMs: () => Date.now(),
});
const app = new Hono();
/** Addresses in the order in which their bodies were parsed. */
const parsed: string[] = [];
app.post('/', async (c) => {
  const value = await bodies.json(c);
  parsed.push(c.req.header('address') ?? '');
  return c.json({ length: JSON.stringify(value).length });
});
app.post('/check', async (c) =>
  c.json((await bodies.jsonInSteps(c, (value) => descriptionSteps(value))).name),
);
app.post('/form', async (c) => c.json([...(await bodies.form(c, 2 ** 20))]));
app.onError((error) => {
  const { code, message } = error as OperationError;
  return Response.json({ code, message }, { status: error instanceof OperationError ? 400 : 500 });
});

const post = (address: string, body: string | ReadableStream, path = '/') => {
  const length = typeof body === 'string' && { 'content-length': String(Buffer.byteLength(body)) };
  const headers = { address, ...length };
  return app.request(path, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
};
const large = JSON.stringify('x'.repeat(100_000));

test('H308: large bodies are parsed one at a time, and addresses take turns; a large form is read as a small one is', async () => {
  const replies = ['1.1.1.1', '1.1.1.1', '1.1.1.1', '2.2.2.2'].map((address) => post(address, large));
  for (const reply of await Promise.all(replies))
    expect(await reply.json()).toEqual({ length: large.length });
  expect(parsed).toEqual(['1.1.1.1', '1.1.1.1', '2.2.2.2', '1.1.1.1']);
  const fields = `a=1+2&b=%2B&c=${'+'.repeat(100_000)}`;
  const read = await (await post('1.1.1.1', fields, '/form')).json();
  expect(read).toEqual([...new URLSearchParams(fields)]);
});

test('H308: between the steps of a large description others are served', async () => {
  const environment = Array.from({ length: 1_000 }, (_, n): [string, string] => [`A${n}`, '']);
  const services = Array.from({ length: 10 }, (_, n) => service({ name: `web${n}x`, environment }));
  let turns = 0;
  const count = () => {
    turns += 1;
    timer = setTimeout(count, 0);
  };
  let timer = setTimeout(count, 0);
  const reply = await post('1.1.1.1', JSON.stringify(application(...services)), '/check');
  clearTimeout(timer);
  expect(await reply.json()).toBe('test-application');
  // 10,000 variables, which are checked twice, in turns of 2,000 units.
  expect(turns).toBeGreaterThan(5);
});

test('H309: slow bodies of one address take their share of the memory, and others are read meanwhile', async () => {
  const writers: ReadableStreamDefaultController[] = [];
  const drip = () => new ReadableStream({ start: (writer) => void writers.push(writer) });
  const slow = Array.from({ length: 8 }, () => post('1.1.1.1', drip()));
  // One of them takes the share of its address, and seven wait for it.
  expect((await post('2.2.2.2', large)).status).toBe(200);
  for (const writer of writers) {
    writer.enqueue(Buffer.from('{}'));
    writer.close();
  }
  for (const reply of await Promise.all(slow)) expect(reply.status).toBe(200);
});

test.each([
  ['{"a":"b+c"}', 11],
  [`${encodeURIComponent('{"a":"b c"}')}=`, 11],
  ['%7B%22a%22:%22b+%2B%22%7D', 11],
])('H6: the body %s is JSON, plain or URL-encoded', async (body, length) => {
  expect(await (await post('1.1.1.1', body)).json()).toEqual({ length });
});

test.each([
  ['plain', '['.repeat(70)],
  ['URL-encoded', `${'%5B'.repeat(70)}=`],
])('H307: a body that is %s and too deep is refused before it is parsed', async (_, body) => {
  expect(await (await post('1.1.1.1', body)).json()).toEqual({
    code: 'invalid',
    message: 'The body has 70 levels of lists and objects within each other; the limit is 64: remove levels.',
  });
});
