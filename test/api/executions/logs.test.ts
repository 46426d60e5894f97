import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { MAX_WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import type { ScriptedLog } from '../../support/agents/scripted-log.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { eitherGroup, onHosts } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const MIB = 1024 * 1024;

onHosts(eitherGroup, (host) => {
  const api = new ApiClient(host);
  let agent: ScriptedAgent;
  let tests = 0;

  // A separate host for each test.
  const join = (...running: Assignment[]) =>
    ScriptedAgent.join(host(), { facts: { name: `host${tests}` }, inventory: running.map(seen.running) });
  beforeEach(async () => {
    tests += 1;
    agent = await join();
  });
  afterEach(async () => {
    if (agent.closeCode === undefined) await agent.close();
  });

  async function running(): Promise<Assignment> {
    const id = await api.submit();
    return agent.runs(id);
  }
  const open = (service: number): Promise<IncomingMessage> => api.http.open('GET', `service/logs/${service}`);
  /** Ends the container, and with it its log. */
  const finish = async (one: Assignment, log: ScriptedLog) => {
    await agent.report(seen.exited(one, 0));
    log.end();
  };
  /**
   * An opened log. Its answer may begin only with the first byte, and the agent's side of it is open before.
   */
  const opened = async (service: number, nth = 0) => {
    const response = open(service);
    const log = await agent.log(service, nth);
    return { response, log };
  };
  const text = async (response: Promise<IncomingMessage>) => (await buffer(await response)).toString();

  test('H42: the output is sent live from its first byte on, and ends when the service ends', async () => {
    const one = await running();
    const { response, log } = await opened(one.service);
    expect(log.opened).toMatchObject({ generation: 1, offset: 0, format: 'raw' });
    await log.write('first\n');
    const stream = await response;
    expect(stream.headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(String((await once(stream, 'data'))[0])).toBe('first\n');
    await log.write('last, without an end of line');
    expect(String((await once(stream, 'data'))[0])).toBe('last, without an end of line');
    await finish(one, log);
    await once(stream, 'end');
  });

  test('H42: chunks of every size are sent as they were written, several in one read of a socket or one in several, to each reader', async () => {
    const one = await running();
    const [first, second] = [await opened(one.service), await opened(one.service, 1)];
    const sizes = [...[1, 2, 100, 4_083, 4_084, 4_085, 8_192], ...[65_523, 65_524, 65_525, 65_535, 65_536]];
    const chunks = [...sizes, ...sizes.toReversed(), ...sizes].map((size) => randomBytes(size));
    const received = Promise.all([first, second].map(({ response }) => response.then(buffer)));
    await Promise.all(
      [first, second].map(async ({ log }) => {
        for (const chunk of chunks) await log.write(chunk);
      }),
    );
    await agent.report(seen.exited(one, 0));
    for (const { log } of [first, second]) log.end();
    for (const all of await received) expect(all.equals(Buffer.concat(chunks))).toBe(true);
  });

  test('H42: a log may be requested before its service starts', async () => {
    await agent.close();
    const id = await api.submit();
    const [service = 0] = (await api.execution(id)).services;
    const response = text(open(service));
    agent = await join();
    const one = await agent.runs(id);
    const log = await agent.log(service);
    await log.write('here it is');
    await finish(one, log);
    expect(await response).toBe('here it is');
  });

  test('H42: a log is available after its container is gone', async () => {
    const one = await running();
    await agent.report(seen.exited(one, 0));
    await agent.report(seen.gone(one));
    expect((await api.execution(one.execution)).status).toBe('terminated');
    const { response, log } = await opened(one.service);
    await log.write('kept');
    log.end();
    expect(await text(response)).toBe('kept');
  });

  test('H43: a log that cannot be read to its end is aborted', async () => {
    const one = await running();
    const { response, log } = await opened(one.service);
    await log.write('some');
    const stream = await response;
    log.fail('the disk is gone');
    await expect(buffer(stream)).rejects.toThrow();
  });

  test('H44, P9: a stalled subscriber costs one credit window at most, and delays no other client', {
    timeout: 60_000,
  }, async () => {
    const one = await running();
    /** Requests of another client, over a second at least: buffers fill within less. */
    const request = async () => {
      const untilMs = performance.now() + 1_000;
      for (let n = 0; n < 20 || performance.now() < untilMs; n++) await api.execution(one.execution);
    };
    const all = Buffer.alloc(48 * MIB, 'the same sixteen');
    const { response, log } = await opened(one.service);
    const writing = log.write(all);
    const stream = await response;
    stream.pause();

    // Some MiB are in socket buffers of the kernel and of this test.
    const stalled = await eventually(async () => {
      const before = log.granted;
      await request();
      return log.granted === before && before;
    });
    expect(stalled).toBeLessThan(24 * MIB);
    const other = await running();
    expect((await api.service(other.service)).status).toBe('active');
    expect(log.granted).toBe(stalled);

    const received = buffer(stream);
    await writing;
    await finish(one, log);
    expect((await received).equals(all)).toBe(true);
    expect(log.mostCredit).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
  });

  test('H46: the log of an ended service is 503 while its host is not connected', async () => {
    const one = await running();
    await agent.report(seen.exited(one, 0), seen.gone(one));
    await agent.close();
    const reply = await api.http.get(`service/logs/${one.service}`);
    expect(reply.status).toBe(503);
    expect(reply.headers['retry-after']).toBe('1');
    expect(reply.json<{ message: string }>().message).toContain(`host${tests}`);
  });

  test('H47: when a subscriber leaves, its stream is closed at the agent, with the next output at the latest', async () => {
    const one = await running();
    const { response, log } = await opened(one.service);
    await log.write('something');
    const stream = await response;
    await once(stream, 'readable');
    stream.destroy();
    await eventually(async () => {
      if (!log.closed) await log.write('more');
      return log.closed;
    });
  });

  test("H37: a stream of a deleted execution's log ends with the log", async () => {
    const one = await running();
    const { response, log } = await opened(one.service);
    await log.write('until here');
    const received = text(response);
    await api.remove(one.execution);
    await agent.report(seen.exited(one, 143));
    log.end();
    await agent.report(seen.gone(one));
    expect(await received).toBe('until here');
  });
});
