/** The output of real containers through engine, agent, control plane and HTTP. */
import { createHash, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { watchMemory } from '../../support/hosts/memory.ts';
import { type Berth, startBerth } from '../../support/rigs/berth.ts';
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

test('P10, H42: ten concurrent subscribers each receive 200,000 lines, complete and in order, and so does one after the container is gone', async () => {
  const { id, service } = await run('seq 1 200000');
  const live = await Promise.all(Array.from({ length: 10 }, () => berth.api.log(service)));
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.containersOf(id)).toEqual([]);
  const expected = sha(Buffer.from(Array.from({ length: 200_000 }, (_, at) => `${at + 1}\n`).join('')));
  expect([...live, await berth.api.log(service)].map(sha)).toEqual(Array(11).fill(expected));
});

/** A line of 10 MiB, empty lines, and bytes of every value without a newline at the end. */
const everything = () =>
  Buffer.concat([Buffer.alloc(10 * MIB, 'long'), Buffer.from('\n\n\n\r\n \0\0\n'), randomBytes(3 * MIB + 1)]);

test.each([
  ['long lines, empty lines and bytes of every value', everything],
  ['a line that fills a chunk of the engine and has no newline', () => Buffer.alloc(64 * 1024, 'x')],
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
  const parts: AsyncIterator<Buffer> = (await api.openLog(service))[Symbol.asyncIterator]();
  let received: number = (await parts.next()).value.byteLength;
  // The subscriber reads on only after these requests are answered.
  await eventually(async () => (await api.execution(id)).status === 'terminated', 120_000);
  const growths = memory.peaks();
  for (let part = await parts.next(); !part.done; part = await parts.next())
    received += part.value.byteLength;
  expect(received).toBe(total);
  for (const bytes of growths) expect(bytes / MIB).toBeLessThan(50);
});
