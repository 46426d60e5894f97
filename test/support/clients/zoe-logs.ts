/** Tests of log lines for the suites of both earlier releases. */

import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { MAX_WINDOW_BYTES } from '../../../shared/streams/targets.ts';
import { ScriptedAgent, seen } from '../agents/scripted-agent.ts';
import { application, service } from '../fixtures/descriptions.ts';
import { ADMIN_PASSWORD, type Host } from '../hosts/hosts.ts';
import { eventually } from '../tools/eventually.ts';
import { basic, HttpClient } from './http-client.ts';
import { type Release, ZoeClient } from './zoe-client.ts';

const STAMP = '2026-11-21 10:00:00 ';
const MIB = 1024 * 1024;

export function testLogLines(host: () => Host, release: Release): void {
  const admin = new HttpClient(() => host().url(), basic('admin', ADMIN_PASSWORD));
  const header = (name: string) => `ZOE HEADER: log file for service main0 running on host ${name}\n`;

  /** Starts a service on a host of its own, which its label reserves for it. */
  async function running(name: string) {
    const agent = await ScriptedAgent.join(host(), { facts: { name, labels: [name] } });
    const id = await submit(name);
    const one = await agent.runs(id);
    const end = async () => {
      await agent.report(seen.exited(one, 0));
      await agent.report(seen.gone(one));
    };
    return { agent, one, end };
  }
  async function submit(label: string): Promise<number> {
    const described = application(service({ labels: [label] }));
    const reply = await admin.post('execution', { name: 'logs', application: described });
    expect(reply.status, reply.reason).toBe(201);
    return reply.json<{ execution_id: number }>().execution_id;
  }
  const open = (id: number) => admin.open('GET', `service/logs/${id}`);

  test('H162: a log is a header and then lines that begin with their time, streamed as they arrive', async () => {
    const { agent, one, end } = await running('lines');
    const stream = await open(one.service);
    expect(stream.headers['content-type']).toBe('text/plain; charset=utf-8');
    const log = await agent.log(one.service);
    expect(log.opened).toMatchObject({ offset: 0, format: 'timestamps' });
    const received = text(stream);
    await log.write(`${STAMP}one\n`);
    await log.write(`${STAMP}two, cut `);
    await log.write('in the middle\n');
    await end();
    log.end();
    expect(await received).toBe(`${header('lines')}${STAMP}one\n${STAMP}two, cut in the middle\n`);
    await agent.close();
  });

  test('H162: clients can read any bytes, including split characters, invalid characters and carriage returns', async () => {
    const { agent, one, end } = await running('bytes');
    const client = await ZoeClient.login(() => host().url(), release, 'admin', ADMIN_PASSWORD);
    const lines = client.logs(one.service);
    expect((await lines.next()).value?.[0]).toBe('ZOE');
    const log = await agent.log(one.service);
    const broken = Buffer.concat([
      Buffer.from(`${STAMP}10 %\r20 %\r\n${STAMP}Zoë `),
      Buffer.from([0xff, 0xc3, 0x28, 0x00]),
      Buffer.from(` \u{1F6A2}\n${STAMP}\n`),
    ]);
    const writing = (async () => {
      for (const byte of broken) await log.write(Buffer.from([byte]));
      await end();
      log.end();
    })();
    const read: string[][] = [];
    for await (const line of lines) read.push(line);
    await writing;
    expect(read).toEqual([
      ['2026-11-21', '10:00:00 10 % 20 % '],
      ['2026-11-21', '10:00:00 Zoë \uFFFD\uFFFD(\0 \u{1F6A2}'],
      ['2026-11-21', '10:00:00 '],
    ]);
    await agent.close();
  });

  test('H162: a log that is requested before its service starts begins with the header', async () => {
    const id = await submit('early');
    const { services } = (await admin.get(`execution/${id}`)).json<{ services: number[] }>();
    const [service = 0] = services;
    const received = open(service).then((stream) => text(stream));
    const agent = await ScriptedAgent.join(host(), { facts: { name: 'early', labels: ['early'] } });
    const one = await agent.runs(id);
    const log = await agent.log(service);
    await log.write(`${STAMP}here\n`);
    await agent.report(seen.exited(one, 0));
    log.end();
    expect(await received).toBe(`${header('early')}${STAMP}here\n`);
    await agent.report(seen.gone(one));
    await agent.close();
  });

  test('H162: the log of a service that ended before it started is not found', async () => {
    const id = await submit('nowhere');
    const { services } = (await admin.get(`execution/${id}`)).json<{ services: number[] }>();
    await admin.delete(`execution/${id}`);
    expect((await admin.get(`service/logs/${services[0]}`)).status).toBe(404);
  });

  test('H162, H44: a line of 10 MiB passes, and a subscriber that stops reading is sent at most its window', async () => {
    const { agent, one, end } = await running('long');
    const stream = await open(one.service);
    stream.pause();
    const log = await agent.log(one.service);
    const line = Buffer.concat([Buffer.from(STAMP), Buffer.alloc(10 * MIB, 'é'), Buffer.from('\n')]);
    const writing = log.write(line);
    await eventually(() => log.sent > 0);
    const received = text(stream);
    await writing;
    await end();
    log.end();
    const whole = await received;
    expect(whole.length).toBe(header('long').length + line.toString().length);
    expect(whole.endsWith(`${'é'.repeat(99)}\n`)).toBe(true);
    expect(log.mostCredit).toBeLessThanOrEqual(MAX_WINDOW_BYTES);
    await agent.close();
  });
}
