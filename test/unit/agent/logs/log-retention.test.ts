import { existsSync, readdirSync, statSync } from 'node:fs';
import { beforeEach, expect, test } from 'vitest';
import { sizeText } from '../../../../shared/sizes.ts';
import type { LogFormat } from '../../../../shared/streams/targets.ts';
import { AgentMachine } from '../../../support/agents/agent-machine.ts';
import type { AgentRig } from '../../../support/agents/agent-rig.ts';
import type { PeerConnection } from '../../../support/agents/control-plane-peer.ts';
import type { FakeEngine } from '../../../support/engines/fake-engine.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';
import { lines, record } from '../../../support/fixtures/records.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const MIB = 2 ** 20;
const key = { service: 1, generation: 1 };
let machine: AgentMachine;
let engine: FakeEngine;
let rig: AgentRig;
let connection: PeerConnection;

beforeEach(async () => {
  machine = new AgentMachine();
  engine = machine.engine;
  await begin();
  await connection.reported(1, 'running');
});

async function begin(assignments = [assignment()]): Promise<void> {
  connection = await machine.begin({ logMaxBytes: MIB });
  rig = machine.rig;
  connection.welcome(assignments);
}
/** The next process of the agent. */
async function restart(): Promise<void> {
  await rig.close();
  await begin();
}
const folder = () => `${machine.folder}/data/1`;

/** Lines that each have their number and a hundred characters. */
const numbered = (from: number, to: number): Buffer =>
  lines(...Array.from({ length: to - from + 1 }, (_, at) => `${from + at} `.padEnd(100, '.')));
const NUMBERED_BYTES = numbered(10_000, 10_000).length;

const usedBytes = (path: string): number => statSync(path).blocks * 512;
const textOf = (channel: number): string => connection.output(channel).toString();
/** All that a channel gives from there on, until it ends. */
async function read(channel: number, offset = 0, format: LogFormat = 'raw'): Promise<string> {
  connection.openOutput(channel, key, { offset, format });
  await connection.ended(channel);
  return textOf(channel);
}

test('P121: of a service that writes too much, the newest output is stored and the oldest space is free', async () => {
  const file = engine.outputFile('c1');
  for (let round = 0; round < 10; round++) {
    engine.write('c1', numbered(10_000 + round * 5000, 14_999 + round * 5000));
    await rig.output.limit();
    expect(usedBytes(file)).toBeLessThanOrEqual(MIB + 8192);
  }
  expect(statSync(file).size).toBe(50_000 * NUMBERED_BYTES);
  expect(rig.log.join()).not.toContain('output.limit-failed');
});
test('P122: a reader gets one line that states how much is missing, and then every byte that is stored', async () => {
  engine.write('c1', numbered(10_000, 29_999));
  await rig.output.limit();
  engine.exit('c1', 0);
  const [notice, ...left] = (await read(1)).split('\n');
  expect(await connection.ended(1)).toEqual({ type: 'channel.end', channel: 1 });
  expect(notice).toMatch(
    /^\[berth\] 1\.\d MiB of older output are missing here: the host stores at most 1\.0 MiB of the output of a service \(BERTH_LIMITS.logBytes\)\.$/,
  );
  expect(left.pop()).toBe('');
  const first = Number(left[0]?.slice(0, 5));
  const numbers = Array.from({ length: 30_000 - first }, (_, index) => first + index);
  expect(left.map((line) => Number(line.slice(0, 5)))).toEqual(numbers);
  expect((30_000 - first) * NUMBERED_BYTES).toBeGreaterThan(MIB * 0.87);
});
test('P122: what is missing counts as the service wrote it, also after a restart of the agent', async () => {
  engine.write('c1', lines(...Array(100_000).fill('y')));
  await rig.output.limit();
  await restart();
  engine.exit('c1', 0);
  const [notice = '', ...left] = (await read(1)).split('\n');
  const missing = 2 * (100_000 - left.filter((line) => line === 'y').length);
  expect(notice).toContain(`[berth] ${sizeText(missing)} of older output are missing here`);
});
test('P329: the log of a service whose container had gone before the agent limited it is limited at the next start', async () => {
  engine.write('c1', numbered(10_000, 29_999));
  await rig.close();
  engine.containers.clear();
  await begin([]);
  const path = `${folder()}/1.log`;
  expect(usedBytes(path)).toBeGreaterThan(MIB + 8192);
  await rig.output.expire(0, () => true);
  expect(usedBytes(path)).toBeGreaterThan(MIB + 8192);
  await rig.output.expire(0, (service) => rig.agent.isKnown(service));
  expect(usedBytes(path)).toBeLessThanOrEqual(MIB + 8192);
  const text = await read(1);
  expect(text).toMatch(/^\[berth\] .* are missing here: .*\n[12]\d{4} \.+\n/);
  expect(text).toMatch(/\n29999 \.+\n$/);
});
test.each([
  ['raw', true, /^be\n\[berth\] .*\n/],
  ['timestamps', true, /^1970-01-01 00:00:00 be\n[-\d]+ [:\d]+ \[berth\] .*\n/],
  ['raw', false, /^be\n\[berth\] .*\n/],
  ['timestamps', false, /^1970-01-01 00:00:00 be\n[-\d]+ [:\d]+ \[berth\] .*\n/],
] as const)(
  'P330: in the format %s, a channel resumed where output is gone begins a line if the last one was open (%s), also after a restart',
  async (format, partial, expected) => {
    engine.write('c1', record('be', partial));
    connection.openOutput(1, key, { format });
    await eventually(() => connection.chunks.length > 0);
    const next = connection.nextOffset(1);
    const first = textOf(1);
    connection.send({ type: 'channel.reset', channel: 1 });
    engine.write('c1', numbered(10_000, 40_000));
    await rig.output.limit();
    engine.exit('c1', 0);
    expect(first + (await read(2, next, format))).toMatch(expected);
    await restart();
    expect(first + (await read(3, next, format))).toMatch(expected);
  },
);
test('P316: output that could not be stored is no empty log, also after a restart of the agent', async () => {
  engine.write('c1', numbered(10_000, 10_001));
  engine.exit('c1', 0);
  rig.output.retention.noteLost(key);
  for (const channel of [1, 3]) {
    if (channel === 3) await restart();
    expect(await read(channel)).toMatch(/^10000 .*\n10001 .*\n\[berth\] Output is missing here: .*\n$/);
  }
});
test('P122: an offset means the same byte before and after older output has gone, also for the next agent', async () => {
  engine.write('c1', numbered(10_000, 29_999));
  await rig.output.limit();
  connection.openOutput(1, key, { offset: 19_000 * NUMBERED_BYTES });
  await eventually(() => textOf(1).endsWith('29999 '.padEnd(100, '.').concat('\n')));
  expect(textOf(1)).toMatch(/^29000 /);
  await restart();
  connection.openOutput(1, key);
  await eventually(() => textOf(1).endsWith('29999 '.padEnd(100, '.').concat('\n')));
  expect(textOf(1)).toMatch(/^\[berth\] /);
});
test('P122: a reader that is overtaken gets the line of what it missed, and continues', async () => {
  engine.write('c1', numbered(10_000, 10_009));
  connection.openOutput(1, key);
  await eventually(() => textOf(1).endsWith('10009 '.padEnd(100, '.').concat('\n')));
  const next = connection.nextOffset(1);
  connection.send({ type: 'channel.reset', channel: 1 });
  engine.write('c1', numbered(10_010, 40_000));
  await rig.output.limit();
  engine.exit('c1', 0);
  const left = (await read(2, next, 'timestamps')).split('\n');
  expect(left[0]).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[berth\] .* missing here/);
  expect(left.filter((line) => line.includes('[berth]'))).toHaveLength(1);
  expect(left.at(-2)).toMatch(/ 40000 \.+$/);
  expect(left.slice(0, -1).every((line) => /^\d{4}-\d\d-\d\d /.test(line))).toBe(true);
});
test('P121: a damaged record goes with the output before it', async () => {
  engine.write('c1', Buffer.concat([numbered(10_000, 15_000), Buffer.alloc(64, 0xff)]));
  engine.write('c1', Buffer.alloc(MIB, 0xff));
  await rig.output.limit();
  engine.write('c1', numbered(50_000, 50_001));
  engine.exit('c1', 0);
  const left = (await read(1)).split('\n').slice(1, -1);
  expect(left.map((line) => line.slice(0, 5))).toEqual(['50000', '50001']);
});
test('P121: earlier starts keep at most half of the limit, and their reader learns what is missing', async () => {
  for (let generation = 1; generation <= 4; generation++) {
    const container = `c${generation}`;
    engine.write(container, numbered(10_000, 12_499));
    connection.start(assignment({ generation: generation + 1 }));
    await eventually(() => engine.containers.get(`c${generation + 1}`)?.state === 'running');
  }
  const logs = () => readdirSync(folder()).filter((name) => name.endsWith('.log'));
  await eventually(() => logs().sort().join() === '4.log,5.log');
  for (const generation of [1, 2, 3, 4]) connection.openOutput(generation, { service: 1, generation });
  await Promise.all([1, 2, 3, 4].map((channel) => connection.ended(channel)));
  expect([textOf(1), textOf(2)]).toEqual(['', '']);
  expect(textOf(3)).toMatch(/^\[berth\] The output of the service's first 3 starts is missing here: .*\n$/);
  expect(textOf(4)).toMatch(/^10000 /);
});
test('P121: the log of a service that has ended is within its limit, whatever it wrote at last, and goes with its notes', async () => {
  engine.write('c1', numbered(10_000, 29_999));
  connection.stop(key);
  await connection.reported(1, 'gone');
  await eventually(() => usedBytes(`${folder()}/1.log`) <= MIB + 8192);
  await eventually(() => existsSync(`${folder()}/1.first`));
  connection.send({ type: 'forget', services: [1] });
  await eventually(() => !existsSync(folder()));
  await eventually(() => rig.output.retention.firstOffset(key) === 0);
});
