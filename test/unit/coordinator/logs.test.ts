import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newHost } from '../../../control-plane/core/model/host.ts';
import { insertHost } from '../../../control-plane/store/cluster/host-rows.ts';
import { application, service } from '../../support/fixtures/applications.ts';
import { CoordinatorRig, owner, seen } from '../../support/rigs/coordinator-rig.ts';
import { exited, failed, gone, running } from '../../support/rigs/core-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

let rig: CoordinatorRig;
beforeEach(async () => {
  rig = await CoordinatorRig.open();
});
afterEach(() => rig.memory.close());

/** Resolves when the next commit begins. The commit then waits for `until`. */
const commitBegins = (until: Promise<void>): Promise<void> =>
  new Promise((resolve) => {
    rig.db.before = () => {
      resolve();
      return until;
    };
  });

describe('a log', () => {
  const text = async (stream: ReadableStream<Uint8Array>) => new Response(stream).text();
  const bytes = (value: string) => new TextEncoder().encode(value);

  test('P10: a log is streamed while the service runs, and ends with it', async () => {
    const one = await rig.agent().join();
    const id = await rig.submit();
    const web = await one.started();
    const log = text(await rig.openLog(web.service));
    const [open] = one.socket.all('logs.open');
    expect(open).toMatchObject({ service: web.service, generation: 1, offset: 0, format: 'raw' });
    await one.reportAndWait(seen(web, running));
    one.chunk(open?.stream ?? 0, 5, bytes('hello'));
    await one.reportAndWait(seen(web, exited(0)));
    one.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('hello');
    expect(await rig.statusOf(id)).toBe('cleaning up');
  });
  test('P10: a log ends although its end arrives before the report of the exit', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    const log = text(await rig.openLog(web.service));
    const stream = one.socket.all('logs.open')[0]?.stream ?? 0;
    await one.reportAndWait(seen(web, running));
    one.sendMessage({ type: 'logs.end', stream, reason: 'exited' });
    await one.reportAndWait(seen(web, exited(0)));
    expect(await log).toBe('');
  });
  test('P10: the log of a start that is retried continues with the next attempt', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    const log = text(await rig.openLog(web.service));
    await one.reportAndWait(seen(web, failed(true)));
    one.sendMessage({
      type: 'logs.end',
      stream: one.socket.all('logs.open')[0]?.stream ?? 0,
      reason: 'missing',
    });
    await one.reportAndWait(seen(web, gone));
    rig.clock.pass(1_000);
    rig.coordinator.wake();
    const again = await one.started(2);
    expect(again).toMatchObject({ service: web.service, generation: 2 });
    const open = await eventually(() => one.socket.all('logs.open')[1]);
    expect(open).toMatchObject({ generation: 2, offset: 0 });
    one.chunk(open?.stream ?? 0, 2, bytes('ok'));
    await one.reportAndWait(seen(again, exited(0)));
    one.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('ok');
  });
  test('P10: a log continues at its position after a reconnect', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    await one.reportAndWait(seen(web, running));
    const log = text(await rig.openLog(web.service));
    one.chunk(one.socket.all('logs.open')[0]?.stream ?? 0, 17, bytes('one '));
    one.drop();
    const back = await rig.agent().join([seen(web, running)]);
    const open = await eventually(() => back.socket.all('logs.open')[0]);
    expect(open).toMatchObject({ offset: 17 });
    back.chunk(open?.stream ?? 0, 20, bytes('two'));
    await back.reportAndWait(seen(web, exited(0)));
    back.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('one two');
  });
  test('C43, C45: a log does not end before the end of its service is committed', async () => {
    const one = await rig.agent().join();
    const id = await rig.submit();
    const web = await one.started();
    await one.reportAndWait(seen(web, running));
    let isOver = false;
    const log = text(await rig.openLog(web.service)).finally(() => {
      isOver = true;
    });
    const commit = Promise.withResolvers<void>();
    const begun = commitBegins(commit.promise);
    const ended = rig.coordinator.terminate(id);
    await begun;
    one.sendMessage({
      type: 'logs.end',
      stream: one.socket.all('logs.open')[0]?.stream ?? 0,
      reason: 'exited',
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    commit.resolve();
    await ended;
    expect(await log).toBe('');
  });
  test('C43, C45: the log of a start is not opened before that start is committed and sent', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    const log = await rig.openLog(web.service);
    await one.reportAndWait(seen(web, failed(true)), seen(web, gone));
    const commit = Promise.withResolvers<void>();
    const begun = commitBegins(commit.promise);
    rig.clock.pass(1_000);
    rig.coordinator.wake();
    await begun;
    one.sendMessage({
      type: 'logs.end',
      stream: one.socket.all('logs.open')[0]?.stream ?? 0,
      reason: 'missing',
    });
    commit.resolve();
    await one.started(2);
    await eventually(() => one.socket.all('logs.open').length === 2);
    const types = one.socket.sent.map(({ type }) => type);
    expect(types.slice(-2)).toEqual(['start', 'logs.open']);
    await log.cancel();
  });
  test('C45: the log of a service that never started is empty, and ends with the execution', async () => {
    const id = await rig.submit();
    const [row] = await rig.memory.query('SELECT first_service_id AS id FROM executions');
    const log = text(await rig.openLog(Number(row?.id)));
    await rig.coordinator.terminate(id);
    expect(await log).toBe('');
  });
  test('C45, C174: a log that is opened while its execution is placed has the output of the service', async () => {
    const id = await rig.submit();
    const [row] = await rig.memory.query('SELECT first_service_id AS id FROM executions');
    const one = rig.agent();
    rig.db.afterQuery = async () => {
      rig.db.afterQuery = () => {};
      await one.join();
      await one.started();
    };
    const log = text(await rig.openLog(Number(row?.id)));
    const [open] = one.socket.all('logs.open');
    one.chunk(open?.stream ?? 0, 3, bytes('new'));
    await rig.coordinator.terminate(id);
    one.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('new');
  });
  test('C45: the log of an ended service is read from its host while that is connected', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    await one.reportAndWait(seen(web, running));
    await one.reportAndWait(seen(web, exited(0)));
    await one.reportAndWait(seen(web, gone));
    const log = text(await rig.openLog(web.service));
    const [open] = one.socket.all('logs.open');
    one.chunk(open?.stream ?? 0, 3, bytes('old'));
    one.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('old');
    one.drop();
    await expect(rig.openLog(web.service)).rejects.toThrow('host one, which is not connected');
  });
  test('C45: a log that is opened while its execution ends has the output of the ended service', async () => {
    const one = await rig.agent().join();
    await rig.submit();
    const web = await one.started();
    await one.reportAndWait(seen(web, running));
    await one.reportAndWait(seen(web, exited(0)));
    const [, stream] = await Promise.all([one.reportAndWait(seen(web, gone)), rig.openLog(web.service)]);
    const log = text(stream);
    const [open] = one.socket.all('logs.open');
    one.chunk(open?.stream ?? 0, 3, bytes('old'));
    one.sendMessage({ type: 'logs.end', stream: open?.stream ?? 0, reason: 'exited' });
    expect(await log).toBe('old');
  });
  test('C122: a coordinator that has not noticed a takeover ends no log of a later execution', async () => {
    const { coordinator: old } = rig;
    await old.ready();
    rig.restart();
    await rig.submit();
    const [row] = await rig.memory.query('SELECT first_service_id AS id FROM executions');
    await expect(old.openLog(owner, Number(row?.id), 'raw')).rejects.toThrow('another one has taken over');
  });
  test('C122: a coordinator that has not noticed a takeover does not take a later host for a removed one', async () => {
    const { coordinator: old } = rig;
    await old.ready();
    await rig.memory.batch([insertHost(newHost(2, 'two', 0))]);
    rig.restart();
    const two = await rig.agent({ name: 'two' }, 2).join();
    await rig.submit();
    const web = await two.started();
    await two.reportAndWait(seen(web, running));
    await two.reportAndWait(seen(web, exited(0)));
    await two.reportAndWait(seen(web, gone));
    await expect(old.openLog(owner, web.service, 'raw')).rejects.toThrow('another one has taken over');
  });
  test('C45: the log of an ended service ends when its execution is deleted and its output is gone', async () => {
    const one = await rig.agent().join();
    const id = await rig.submit(application(service(), service({ name: 'side', monitor: false })));
    const [web, side] = [await one.started(1), await one.started(2)];
    await one.reportAndWait(seen(web, running), seen(side, running));
    await one.reportAndWait(seen(web, exited(0)), seen(side, exited(143)));
    await one.reportAndWait(seen(web, gone), seen(side, gone));
    const log = text(await rig.openLog(side.service));
    await rig.coordinator.remove(id);
    one.sendMessage({
      type: 'logs.end',
      stream: one.socket.all('logs.open')[0]?.stream ?? 0,
      reason: 'missing',
    });
    expect(await log).toBe('');
  });
});
