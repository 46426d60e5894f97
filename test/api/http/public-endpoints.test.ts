import { expect, test } from 'vitest';
import { HttpClient } from '../../support/clients/http-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';

const isTimeOrNull = (value: unknown) => value === null || typeof value === 'number';
/** Null on Node, which never sleeps (C233). */
const isAwakeOrNull = (value: unknown): boolean =>
  value === null ||
  Object.values((value as { coordinator: object }).coordinator).every((one) => typeof one === 'number');

onHosts(eitherGroup, (host) => {
  const client = new HttpClient(() => host().url());

  test('H10: info returns release, deployment, format and API version, and is public', async () => {
    const reply = await client.get('info');
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(reply.json()).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      deployment_name: 'test',
      application_format_version: 3,
      api_version: '0.7',
    });
  });

  test('H13, H217, H392: the scheduler statistics are numbers, and are public', async () => {
    const reply = await client.get('statistics/scheduler');
    expect(reply.status).toBe(200);
    const amounts = { memory_total: 0, memory_reserved: 0, cores_total: 0, cores_reserved: 0 };
    expect(reply.json()).toEqual({
      ...{ termination_threads_count: 0, queue_length: 0 },
      queue: { executions: 0, oldest_submit: null },
      running: { executions: 0, starting: 0, containers: 0 },
      hosts: { known: 0, connected: 0, schedulable: 0, ...amounts },
      history: { keep_ended_days: 90, removed: 0, reviewed: expect.toSatisfy(isTimeOrNull) },
      awake: expect.toSatisfy(isAwakeOrNull),
    });
  });

  test('H14: discovery of an unknown execution is 404, without credentials', async () => {
    for (const id of ['999', 'x', '-1', '99999999999999999999']) {
      expect((await client.get(`discovery/by_group/${id}/main`)).status, id).toBe(404);
    }
  });

  const good = application(service());

  test.each([
    ['bare', good],
    ['wrapped', { application: good }],
  ])('H11: a valid description is 200: %s', async (_, body) => {
    expect((await client.post('app_validate', body)).status).toBe(200);
  });

  const bad = { ...good, name: 'x', extra: 1, services: [{ ...service(), image: '', ports: [{}] }] };
  test.each([
    ['bare', bad],
    ['wrapped', { application: bad }],
  ])('H12: an invalid description is 400 with every problem and its JSON pointer: %s', async (_, body) => {
    const reply = await client.post('app_validate', body);
    expect(reply.status).toBe(400);
    const { message, problems } = reply.json<{ message: string; problems: { pointer: string }[] }>();
    const pointers = problems.map(({ pointer }) => pointer);
    for (const pointer of ['/name', '/extra', '/services/0/image', '/services/0/ports/0/port_number']) {
      expect(pointers).toContain(pointer);
      expect(message).toContain(`${pointer}: `);
    }
  });

  test('H12: each problem states what is wrong', async () => {
    const reply = await client.post('app_validate', { ...good, services: [service({ monitor: false })] });
    expect(reply.json()).toMatchObject({
      problems: [{ pointer: '/services', message: 'needs at least one service with "monitor": true' }],
    });
  });

  test.each([
    ['null', null],
    ['a list', [good]],
    ['a text', 'application'],
    ['an empty object', {}],
    ['a wrapped null', { application: null }],
  ])('H12: %s is not a description', async (_, body) => {
    expect((await client.post('app_validate', body)).status).toBe(400);
  });

  const text = JSON.stringify({ application: application(service({ command: 'echo 1+1 100% ä {{x}}' })) });
  test.each([
    ['without a content type', undefined],
    ['as a form', 'application/x-www-form-urlencoded'],
    ['as text', 'text/plain'],
    ['as JSON', 'application/json'],
  ])('H6: JSON is accepted %s', async (_, type) => {
    const sender = type === undefined ? client : client.with({ 'content-type': type });
    expect((await sender.send('POST', 'app_validate', text)).status).toBe(200);
  });

  test.each([
    ['broken JSON', '{"application":', 'The body is not JSON.'],
    ['a trailing comma', '{\n  "name": "x",\n}', 'The body is not JSON: see line 3 column 1.'],
    ['broken URL encoding', '%7B%', 'The body is not JSON.'],
    ['an empty body', '', 'The body is empty: it must be JSON.'],
    ['nesting that never ends', '['.repeat(64), 'The body is not JSON.'],
  ])('H6: %s is 400', async (_, body, message) => {
    const reply = await client.send('POST', 'app_validate', body);
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject({ message });
  });

  const MIB = 1024 * 1024;
  test('H7: a body of 1 MiB is accepted, and a larger one is 413', async () => {
    const longest = text + ' '.repeat(MIB - Buffer.byteLength(text));
    expect((await client.send('POST', 'app_validate', longest)).status).toBe(200);
    const reply = await client.send('POST', 'app_validate', ' '.repeat(MIB + 1));
    expect(reply.status).toBe(413);
    expect(reply.json()).toEqual({ code: 'too-large', message: 'The body is larger than 1048576 bytes.' });
  });
});
