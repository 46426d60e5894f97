/** The output of real containers through engine, agent, control plane and HTTP. */
import { createHash, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CommandLine } from '../../support/clients/command-line.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { watchMemory } from '../../support/hosts/memory.ts';
import { type Berth, PASSWORD, startBerth } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const MIB = 2 ** 20;
let berth: Berth;
let volume: string;

beforeAll(async () => {
  volume = await scratchFolder('berth-volume-');
  berth = await startBerth({ deployment: 'e2e-logs', env: { BERTH_AGENT_VOLUME_ROOTS: volume } });
});

afterAll(async () => {
  await berth.close();
  await rm(volume, { recursive: true, force: true });
});

/** Starts an execution of one service that runs a script. */
async function run(text: string): Promise<{ id: number; service: number }> {
  const volumes = [{ name: 'data', path: volume, read_only: true }];
  const id = await berth.api.submit(application(script(text, { volumes })));
  const [service = 0] = (await berth.api.execution(id)).services;
  return { id, service };
}

const sha = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

test('P10: 200,000 lines are complete and in order, during their writing and after the container is gone', async () => {
  const { id, service } = await run('seq 1 200000');
  const live = await berth.api.log(service);
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.containersOf(id)).toEqual([]);
  const expected = Array.from({ length: 200_000 }, (_, at) => `${at + 1}\n`).join('');
  expect(live.toString() === expected).toBe(true);
  expect((await berth.api.log(service)).equals(live)).toBe(true);
});

test('H500, H501, L101, L102: of a running service, berth logs prints what there is, or its last lines', async () => {
  const { id } = await run('seq 1 100000; echo all; sleep 600');
  const home = await scratchFolder('berth-home-');
  const cli = new CommandLine(home, { BERTH_URL: berth.url });
  expect((await cli.run(['login', '--user', 'admin', '--password-stdin'], PASSWORD)).code).toBe(0);
  await eventually(async () => (await cli.run(['logs', String(id), '--tail', '1'])).out === 'all\n', 60_000);
  const expected = `${Array.from({ length: 100_000 }, (_, at) => `${at + 1}\n`).join('')}all\n`;
  expect((await cli.run(['logs', String(id)])).out === expected).toBe(true);
  const tail = await cli.run(['logs', String(id), '--tail', '3000']);
  expect(tail.out === `${expected.split('\n').slice(-3001).join('\n')}`).toBe(true);
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
  expect((await cli.run(['logs', String(id), '--tail', '2'])).out).toBe('100000\nall\n');
  await rm(home, { recursive: true, force: true });
});

test('H42: the log contains both streams, each in the order of its writing', async () => {
  const { id, service } = await run(
    'i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done',
  );
  await berth.api.waitFor(id, 'terminated');
  const lines = (await berth.api.log(service)).toString().trimEnd().split('\n');
  const numbers = Array.from({ length: 2000 }, (_, at) => String(at));
  expect(lines).toHaveLength(4000);
  for (const stream of ['out', 'err']) {
    const own = lines.filter((line) => line.startsWith(stream));
    expect(own.map((line) => line.slice(4))).toEqual(numbers);
  }
});

test.each([
  ['bytes of every value, without a newline at the end', () => randomBytes(3 * MIB + 1)],
  ['a line of 10 MiB', () => Buffer.concat([Buffer.alloc(10 * MIB, 'long'), Buffer.from('\nshort\n')])],
  ['a line that fills a chunk of the engine and has no newline', () => Buffer.alloc(64 * 1024, 'x')],
  ['empty lines, carriage returns and NULs', () => Buffer.from('\n\n\r\n \0\0\n\n\n')],
])('H42: %s: the log has the same bytes', async (_, make) => {
  const bytes = make();
  await writeFile(`${volume}/bytes`, bytes);
  const { id, service } = await run('cat /mnt/data/bytes');
  const live = await berth.api.log(service);
  await berth.api.waitFor(id, 'terminated');
  expect({ length: live.length, sha: sha(live) }).toEqual({ length: bytes.length, sha: sha(bytes) });
  expect(sha(await berth.api.log(service))).toBe(sha(bytes));
});

test('H44: a subscriber that stops reading costs bounded memory, delays no other request, and receives every byte in the end', {
  timeout: 240_000,
}, async () => {
  const { api } = berth;
  const total = 200 * MIB;
  // Both processes have served a log before, so that only the growth caused by the stopped subscriber is
  // measured.
  const warm = await run('seq 1 100000');
  await api.log(warm.service);
  await api.waitFor(warm.id, 'terminated');
  const memory = await watchMemory(berth.program.pid, await berth.agentPid());

  const { id, service } = await run(`yes $(seq -s . 1 60) | head -c ${total}`);
  const reader = (await api.openLog(service)).body?.getReader();
  let received = (await reader?.read())?.value?.byteLength ?? 0;
  // The subscriber reads on only after these requests are answered.
  await eventually(async () => (await api.execution(id)).status === 'terminated', 120_000);
  const growths = memory.peaks();
  for (let part = await reader?.read(); part?.value; part = await reader?.read())
    received += part.value.byteLength;
  expect(received).toBe(total);
  for (const bytes of growths) expect(bytes / MIB).toBeLessThan(50);
});

test('H42: ten concurrent subscribers each receive the whole log', async () => {
  const { id, service } = await run('seq 1 300000');
  const logs = await Promise.all(Array.from({ length: 10 }, () => berth.api.log(service)));
  await berth.api.waitFor(id, 'terminated');
  expect(new Set(logs.map(sha)).size).toBe(1);
  expect(logs[0]?.toString().endsWith('\n300000\n')).toBe(true);
});
