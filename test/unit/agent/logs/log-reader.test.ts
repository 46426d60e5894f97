import { beforeEach, expect, test } from 'vitest';
import type { LogFormat } from '../../../../shared/streams/targets.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { lines, record } from '../../../support/fixtures/records.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const key = { service: 1, generation: 1 };
const second = { service: 2, generation: 1 };
let machine: AgentMachine;
let engine: FakeEngine;
let connection: PeerConnection;

beforeEach(async () => {
  machine = new AgentMachine();
  engine = machine.engine;
  connection = await machine.run();
});

const close = (channel: number) => connection.send({ type: 'channel.reset', channel });

/** What a channel has given when it has ended. */
const textOf = async (channel: number): Promise<string> => {
  expect(await connection.ended(channel)).toEqual({ type: 'channel.end', channel });
  return connection.output(channel).toString();
};

test('P10: a channel to output follows a running service, and ends once after its last byte', async () => {
  engine.write('c1', lines('one'));
  connection.openOutput(5, key);
  await eventually(() => connection.output(5).toString() === 'one\n');
  engine.write('c1', lines('two'));
  engine.exit('c1', 0);
  expect(await textOf(5)).toBe('one\ntwo\n');
});
test('P331: the remark on a container precedes its output, for a later agent process, too', async () => {
  engine.remark = 'There is no /workspace.';
  connection.start(assignment({ service: 2 }));
  await eventually(() => engine.containers.get('c2')?.state === 'running');
  engine.write('c2', lines('one'));
  engine.exit('c2', 0);
  const read = (channel: number, offset = 0, format: LogFormat = 'raw') => {
    connection.openOutput(channel, second, { offset, format });
    return textOf(channel);
  };
  expect(await read(5)).toBe('[berth] There is no /workspace.\none\n');
  expect(await read(6, 0, 'timestamps')).toMatch(/^[-\d]+ [:\d]+ \[berth] There is no/);
  expect(await read(7, connection.nextOffset(6))).toBe('');
  connection = await machine.restart();
  connection.welcome([assignment({ service: 2 })]);
  expect(await read(8)).toContain('[berth] There is no /workspace.\n');
});
test('P10: a channel resumes at the position of a frame, even in the middle of a line', async () => {
  engine.write('c1', record('be', true));
  connection.openOutput(1, key, { format: 'timestamps' });
  await eventually(() => connection.chunks.length > 0);
  close(1);
  engine.write('c1', record('gin'));
  engine.exit('c1', 0);
  connection.openOutput(2, key, { offset: connection.nextOffset(1), format: 'timestamps' });
  expect(await textOf(2)).toBe('gin\n');
  expect(connection.output(1).toString()).toBe('1970-01-01 00:00:00 be');
});
test('P193: a channel that does not follow ends with what there is, although the container runs', async () => {
  engine.write('c1', lines('one', 'two', 'three'));
  connection.openOutput(1, key, { follow: false });
  expect(await textOf(1)).toBe('one\ntwo\nthree\n');
  connection.openOutput(2, key, { follow: false, tail: 2 });
  expect(await textOf(2)).toBe('two\nthree\n');
  connection.openOutput(3, { service: 99, generation: 1 }, { follow: false });
  expect(await connection.ended(3)).toMatchObject({ missing: true });
  connection.openOutput(4, key, { tail: 1 });
  await eventually(() => connection.output(4).toString() === 'three\n');
  engine.write('c1', lines('four'));
  engine.exit('c1', 0);
  expect(await textOf(4)).toBe('three\nfour\n');
});
test('P10: an offset that no frame has given is refused, whatever the output there looks like', async () => {
  engine.write('c1', lines(`${'x'.repeat(100)}\xff\xff\xff\xff`));
  engine.exit('c1', 0);
  connection.openOutput(1, key);
  await connection.ended(1);
  const whole = connection.nextOffset(1);
  // The second is as if a crash of the machine had lost the end of the output.
  for (const [channel, claimed] of [whole - 4, whole + 9].entries()) {
    connection.openOutput(2 + channel, key, { offset: claimed });
    expect(await connection.ended(2 + channel)).toMatchObject({ type: 'channel.reset' });
  }
});
test('P9: a channel to output never sends more than its credit, the heads of its frames included, delays no other message, and continues when it gets more', async () => {
  engine.write('c1', lines(...Array(1500).fill('x'.repeat(99))));
  connection.openOutput(1, key, { credit: 100_020 });
  // 999 lines in two frames: with the heads, another line would be beyond the credit.
  await eventually(() => connection.payload(1).length === 99_940);
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  engine.exit('c1', 0);
  connection.openOutput(2, key);
  await connection.ended(2);
  expect(connection.payload(1)).toHaveLength(99_940);
  connection.send({ type: 'channel.credit', channel: 1, bytes: 60_000 });
  expect(await textOf(1)).toHaveLength(150_000);
});
test('P10: an empty line arrives alone', async () => {
  engine.write('c1', lines(''));
  connection.openOutput(1, key);
  await eventually(() => connection.output(1).toString() === '\n');
});
test('P10: output of several reads arrives as it was written', async () => {
  const texts = Array.from({ length: 9_000 }, (_, n) => `${n} ${'x'.repeat(n % 150)}`);
  engine.write('c1', lines(...texts));
  engine.exit('c1', 0);
  connection.openOutput(1, key);
  expect((await textOf(1)) === `${texts.join('\n')}\n`).toBe(true);
});
test('P252: a closed channel sends nothing more', async () => {
  connection.openOutput(1, key);
  close(1);
  engine.write('c1', lines('late'));
  engine.exit('c1', 0);
  connection.openOutput(2, key);
  await connection.ended(2);
  expect(connection.payload(1)).toHaveLength(0);
  const first = connection.messages.filter((message) => 'channel' in message && message.channel === 1);
  expect(first.map(({ type }) => type)).toEqual(['channel.opened']);
});
test('a channel to output waits for a service that has not started yet', async () => {
  const created = engine.hold('create');
  connection.start(assignment({ service: 2 }));
  connection.openOutput(1, second);
  created.resolve();
  await connection.reported(2, 'running');
  engine.write('c2', lines('first'));
  await eventually(() => connection.output(1).toString() === 'first\n');
});
test('the output of a removed service is complete', async () => {
  engine.write('c1', lines('one', 'two'));
  connection.stop(key);
  await connection.reported(1, 'gone');
  connection.openOutput(1, key);
  expect(await textOf(1)).toBe('one\ntwo\n');
});
test('the output of a service that never started, or is unknown, is reported as missing', async () => {
  engine.images.clear();
  engine.pull = () => Promise.reject(new Error('denied'));
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'failed');
  for (const service of [2, 9]) {
    connection.openOutput(service, { service, generation: 1 }, { credit: 1 });
    expect(await connection.ended(service)).toMatchObject({ type: 'channel.end', missing: true });
  }
});
test('a channel to a damaged file is reset', async () => {
  engine.write('c1', Buffer.from('ffffffff', 'hex'));
  connection.openOutput(1, key);
  expect(await connection.ended(1)).toMatchObject({ type: 'channel.reset' });
});
