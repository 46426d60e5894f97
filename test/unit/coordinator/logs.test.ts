import { beforeEach, expect, test } from 'vitest';
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

const text = async (stream: ReadableStream<Uint8Array>) => new Response(stream).text();

test('P10: a log ends although its end arrives before the report of the exit', async () => {
  const { agent: one, start: web } = await rig.starts();
  const log = text(await rig.openLog(web.service));
  await one.reportAndWait(seen(web, running));
  one.endLog();
  await one.reportAndWait(seen(web, exited(0)));
  expect(await log).toBe('');
});
test('P10: the log of a start that is retried continues with the next attempt', async () => {
  const { agent: one, start: web } = await rig.starts();
  const log = text(await rig.openLog(web.service));
  await one.reportAndWait(seen(web, failed(true)));
  one.endLog(true);
  await one.reportAndWait(seen(web, gone));
  rig.pass(1_000);
  const again = await one.started(2);
  expect(again).toMatchObject({ service: web.service, generation: 2 });
  const open = await eventually(() => one.socket.all('channel.open')[1]);
  expect(open).toMatchObject({ generation: 2, target: { offset: 0 } });
  one.write(2, 'ok');
  await one.reportAndWait(seen(again, exited(0)));
  one.endLog();
  expect(await log).toBe('ok');
});
test('C43, C45: a log does not end before the end of its service is committed', async () => {
  const { agent: one, id, start: web } = await rig.runs();
  let isOver = false;
  const log = text(await rig.openLog(web.service)).finally(() => {
    isOver = true;
  });
  const commit = rig.db.hold();
  const ended = rig.coordinator.terminate(id);
  await commit.begun;
  one.endLog();
  await new Promise((resolve) => setImmediate(resolve));
  expect(isOver).toBe(false);
  commit.release();
  await ended;
  expect(await log).toBe('');
});
test('C43, C45: the log of a start is not opened before that start is committed and sent', async () => {
  const { agent: one, start: web } = await rig.starts();
  const log = await rig.openLog(web.service);
  await one.reportAndWait(seen(web, failed(true)), seen(web, gone));
  const commit = rig.db.hold();
  rig.pass(1_000);
  await commit.begun;
  one.endLog(true);
  commit.release();
  await one.started(2);
  await eventually(() => one.socket.all('channel.open').length === 2);
  const types = one.socket.sent.map(({ type }) => type);
  expect(types.slice(-2)).toEqual(['start', 'channel.open']);
  await log.cancel();
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
  one.write(3, 'new');
  await rig.coordinator.terminate(id);
  one.endLog();
  expect(await log).toBe('new');
});
test('C45: a log that is opened while its execution ends has the output of the ended service', async () => {
  const { agent: one, start: web } = await rig.runs();
  await one.reportAndWait(seen(web, exited(0)));
  const [, stream] = await Promise.all([one.reportAndWait(seen(web, gone)), rig.openLog(web.service)]);
  const log = text(stream);
  one.write(3, 'old');
  one.endLog();
  expect(await log).toBe('old');
});
test('C122: a coordinator that has not noticed a takeover ends no log of a later execution', async () => {
  const { coordinator: old } = rig;
  await old.ready();
  rig.restart();
  await rig.submit();
  const [row] = await rig.memory.query('SELECT first_service_id AS id FROM executions');
  await expect(rig.logsOf(old)(owner, Number(row?.id), 'raw')).rejects.toThrow('another one has taken over');
});
test('C122: a coordinator that has not noticed a takeover does not take a later host for a removed one', async () => {
  const { coordinator: old } = rig;
  await old.ready();
  await rig.memory.batch([insertHost(newHost(2, 'two', 0))]);
  rig.restart();
  const two = await rig.agent({ name: 'two' }, 2).join();
  await rig.submit();
  const web = await two.started();
  await two.reportEach(web, running, exited(0), gone);
  await expect(rig.logsOf(old)(owner, web.service, 'raw')).rejects.toThrow('another one has taken over');
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
  one.endLog(true);
  expect(await log).toBe('');
});
