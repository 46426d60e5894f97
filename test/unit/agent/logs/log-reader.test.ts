import { beforeEach, expect, test } from 'vitest';
import { pauseMs } from '../../../../agent/connection/log-streams.ts';
import type { LogFormat, LogPart } from '../../../../shared/protocol/down.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import { found, type PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { lines, record } from '../../../support/fixtures/records.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const key = { service: 1, generation: 1 };
let machine: AgentMachine;
let engine: FakeEngine;
let connection: PeerConnection;

beforeEach(async () => {
  machine = new AgentMachine();
  engine = machine.engine;
  connection = await machine.run();
});

const open = (stream: number, credit = 1e6, offset = 0, format: LogFormat = 'raw', service = 1) =>
  connection.send({ type: 'logs.open', ...key, service, stream, offset, credit, format });

/** What a stream has given when it has ended. */
const textOf = async (stream: number): Promise<string> => {
  await connection.ended(stream);
  return connection.payload(stream).toString();
};

test('P10: a stream follows a running service, and ends once after its last byte', async () => {
  engine.write('c1', lines('one'));
  open(5);
  await eventually(() => connection.payload(5).toString() === 'one\n');
  engine.write('c1', lines('two'));
  engine.exit('c1', 0);
  expect(await connection.ended(5)).toMatchObject({ reason: 'exited' });
  expect(connection.payload(5).toString()).toBe('one\ntwo\n');
});
test('P331: the remark on a container precedes its output, for a later agent process, too', async () => {
  engine.remark = 'There is no /workspace.';
  connection.start(assignment({ service: 2 }));
  await eventually(() => engine.containers.get('c2')?.state === 'running');
  engine.write('c2', lines('one'));
  engine.exit('c2', 0);
  const read = (stream: number, offset = 0, format: LogFormat = 'raw') => {
    open(stream, 1e6, offset, format, 2);
    return textOf(stream);
  };
  expect(await read(5)).toBe('[berth] There is no /workspace.\none\n');
  expect(await read(6, 0, 'timestamps')).toMatch(/^[-\d]+ [:\d]+ \[berth] There is no/);
  expect(await read(7, connection.chunks.at(-1)?.next)).toBe('');
  connection = await machine.restart();
  connection.welcome([assignment({ service: 2 })]);
  expect(await read(8)).toContain('[berth] There is no /workspace.\n');
});
test('P10: a stream resumes at the offset of a chunk, even in the middle of a line', async () => {
  engine.write('c1', record('be', true));
  open(1, 1e6, 0, 'timestamps');
  const chunk = await found(() => connection.chunks[0]);
  connection.send({ type: 'logs.close', stream: 1 });
  engine.write('c1', record('gin'));
  engine.exit('c1', 0);
  open(2, 1e6, chunk.next, 'timestamps');
  expect(await textOf(2)).toBe('gin\n');
  expect(connection.payload(1).toString()).toBe('1970-01-01 00:00:00 be');
});
test('P193: a stream that does not follow ends with what there is, although the container runs', async () => {
  engine.write('c1', lines('one', 'two', 'three'));
  const part = (stream: number, asked: LogPart, service = 1) =>
    connection.send({
      ...{ type: 'logs.open', ...key, service, stream, offset: 0, credit: 1e6, format: 'raw' },
      ...asked,
    });
  part(1, { follow: false });
  expect(await connection.ended(1)).toMatchObject({ reason: 'exited' });
  expect(connection.payload(1).toString()).toBe('one\ntwo\nthree\n');
  part(2, { follow: false, tail: 2 });
  expect(await textOf(2)).toBe('two\nthree\n');
  part(3, { follow: false }, 99);
  expect(await connection.ended(3)).toMatchObject({ reason: 'missing' });
  part(4, { tail: 1 });
  await eventually(() => connection.payload(4).toString() === 'three\n');
  engine.write('c1', lines('four'));
  engine.exit('c1', 0);
  expect(await textOf(4)).toBe('three\nfour\n');
});
test('P10: an offset that no chunk has given is refused, whatever the output there looks like', async () => {
  engine.write('c1', lines(`${'x'.repeat(100)}\xff\xff\xff\xff`));
  engine.exit('c1', 0);
  open(1);
  await connection.ended(1);
  const whole = found(() => connection.chunks[0]).then(({ next }) => next);
  const claimed = (await whole) - 4;
  open(2, 1e6, claimed);
  expect(await connection.ended(2)).toMatchObject({ reason: 'failed' });
  // As if a crash of the machine had lost the end of the output.
  open(3, 1e6, (await whole) + 9);
  expect(await connection.ended(3)).toMatchObject({ reason: 'failed' });
});
test('P9: a stream never sends more than its credit, delays no other message, and continues when it gets more', async () => {
  engine.write('c1', lines(...Array(1000).fill('x'.repeat(99))));
  open(1, 10_000);
  await eventually(() => connection.payload(1).length === 10_000);
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'running');
  engine.exit('c1', 0);
  open(2, 1e6);
  await connection.ended(2);
  expect(connection.payload(1)).toHaveLength(10_000);
  connection.send({ type: 'logs.credit', stream: 1, bytes: 100_000 });
  expect(await textOf(1)).toHaveLength(100_000);
});
test('P10: an empty line arrives alone', async () => {
  engine.write('c1', lines(''));
  open(1);
  await eventually(() => connection.payload(1).toString() === '\n');
});
test('P10: output of several reads arrives as it was written', async () => {
  const texts = Array.from({ length: 9_000 }, (_, n) => `${n} ${'x'.repeat(n % 150)}`);
  engine.write('c1', lines(...texts));
  engine.exit('c1', 0);
  open(1, 1e7);
  expect((await textOf(1)) === `${texts.join('\n')}\n`).toBe(true);
});
test('P156: streams pause the longer the more they are, and at least as long as the control plane requires', () => {
  expect([pauseMs(1, 0), pauseMs(10, 0), pauseMs(10, 500)]).toEqual([20, 40, 500]);
});
test('a closed stream sends nothing more', async () => {
  open(1);
  connection.send({ type: 'logs.close', stream: 1 });
  engine.write('c1', lines('late'));
  engine.exit('c1', 0);
  open(2);
  await connection.ended(2);
  expect(connection.payload(1)).toHaveLength(0);
  expect(connection.messages.filter((message) => message.type === 'logs.end')).toHaveLength(1);
});
test('a stream waits for a service that has not started yet', async () => {
  const created = engine.hold('create');
  connection.start(assignment({ service: 2 }));
  open(1, 1e6, 0, 'raw', 2);
  created.resolve();
  await connection.reported(2, 'running');
  engine.write('c2', lines('first'));
  await eventually(() => connection.payload(1).toString() === 'first\n');
});
test('the stream of a removed service has the complete output', async () => {
  engine.write('c1', lines('one', 'two'));
  connection.stop(key);
  await connection.reported(1, 'gone');
  open(1);
  expect(await connection.ended(1)).toMatchObject({ reason: 'exited' });
  expect(connection.payload(1).toString()).toBe('one\ntwo\n');
});
test('the stream of a service that never started, or is unknown, reports that the log is missing', async () => {
  engine.images.clear();
  engine.pull = () => Promise.reject(new Error('denied'));
  connection.start(assignment({ service: 2 }));
  await connection.reported(2, 'failed');
  for (const service of [2, 9]) {
    open(service, 1, 0, 'raw', service);
    expect(await connection.ended(service)).toMatchObject({ reason: 'missing' });
  }
});
test('the stream of a damaged file fails', async () => {
  engine.write('c1', Buffer.from('ffffffff', 'hex'));
  open(1);
  expect(await connection.ended(1)).toMatchObject({ reason: 'failed' });
});
