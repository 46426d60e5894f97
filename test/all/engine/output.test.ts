/** The stored output of containers on a real Docker engine, for each way of preserving it. */
import { mkdtemp, rm } from 'node:fs/promises';
import type Docker from 'dockerode';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DockerEngine } from '../../../agent/engine/docker/docker-engine.ts';
import type { Container } from '../../../agent/engine/engine.ts';
import { connectEngine, DEFAULT_SOCKET, socketOf, unixHost } from '../../../agent/engine/engine-address.ts';
import { OutputStore } from '../../../agent/logs/output-store.ts';
import { NO_SOURCE, RecordDecoder } from '../../../agent/logs/record.ts';
import { limits } from '../../support/agents/agent-rig.ts';
import { CPU_LIMIT, engineOptions } from '../../support/engines/docker-rig.ts';
import { testEngine } from '../../support/engines/engine.ts';
import { assignment } from '../../support/fixtures/assignments.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const deployment = `output${process.pid}`;
const host = process.env.DOCKER_HOST || unixHost(DEFAULT_SOCKET);
const key = { service: 1, generation: 1 };
let docker: Docker;
let scratch: string;

beforeAll(async () => {
  docker = await testEngine();
});

afterEach(async () => {
  await rm(scratch, { recursive: true, force: true });
});

/** The engine's files are on this machine if its socket is, and only root may read them. */
const ways: { way: string; local: boolean; atEngine: boolean }[] = [
  { way: 'by the log API', local: false, atEngine: false },
];
if (socketOf(host) !== undefined && process.getuid?.() === 0) {
  ways.push({ way: 'by its file', local: true, atEngine: false });
  ways.push({ way: 'by a link to its file', local: true, atEngine: true });
}

describe.each(ways)('output preserved $way', ({ local, atEngine }) => {
  let engine: DockerEngine;
  let store: OutputStore;

  beforeEach(async () => {
    scratch = atEngine ? await scratchAtEngine() : await scratchFolder('berth-agent-');
    engine = new DockerEngine(docker, connectEngine(host), {
      deployment,
      ...engineOptions,
      local,
    });
    await engine.facts();
    store = openStore();
  });

  afterEach(async () => {
    for (const { id } of await engine.list()) await engine.remove(id);
    await engine.removeUnused(0);
    await store.close();
  });

  const openStore = () => new OutputStore(`${scratch}/logs`, engine, () => {}, limits);

  /** A link requires a common file system, which only the engine's own folder guarantees. */
  async function scratchAtEngine(): Promise<string> {
    const { DockerRootDir } = await docker.info();
    return mkdtemp(`${DockerRootDir}/tmp/berth-agent-`);
  }

  async function run(script: string): Promise<Container> {
    const wanted = assignment({ name: `web-${deployment}`, command: ['sh', '-c', script] });
    const container = await engine.start(
      wanted,
      (await engine.create(wanted, CPU_LIMIT)).id,
      CPU_LIMIT,
      true,
    );
    await store.preserve(container);
    return container;
  }

  async function finish({ id }: Container): Promise<void> {
    await docker.getContainer(id).wait();
    const ended = await engine.inspect(id);
    if (!ended) throw new Error('it is gone');
    await store.preserve(ended);
    await store.finalise(ended);
    await engine.remove(id);
    await store.release(ended);
  }

  /** Space that the log takes, wherever it is. */
  async function usedBytes(): Promise<number> {
    const file = await store.open(key);
    const { blocks = 0 } = (await file?.stat()) ?? {};
    await file?.close();
    return blocks * 512;
  }

  async function stored(): Promise<string> {
    const file = await store.open(key);
    if (!file) throw new Error('there is no log');
    const input = (await file.readFile()).subarray(store.retention.firstOffset(key));
    await file.close();
    const output = Buffer.alloc(input.length);
    const { written } = new RecordDecoder('raw', NO_SOURCE).decode(input, output);
    return output.toString('utf8', 0, written);
  }

  test('the output is complete after the container is removed, with empty lines, long lines and a last line without a newline, until the service is forgotten', async () => {
    await finish(await run('printf "\\n\\na\\n"; head -c 100000 /dev/zero | tr "\\0" x; printf "\\nlast"'));
    const [first, second, third, long, last, ...rest] = (await stored()).split('\n');
    expect({ first, second, third, last, rest }).toEqual({
      first: '',
      second: '',
      third: 'a',
      last: 'last',
      rest: [],
    });
    expect(long?.length).toBe(100_000);
    await store.forget(1);
    expect(await store.open(key)).toBeUndefined();
  });
  test('the output has no gap or repetition when the agent is away for a while', async () => {
    const container = await run('seq 1 5000; sleep 0.5; seq 5001 10000');
    await eventually(async () => (await stored()).includes('\n5000\n'));
    await store.close();
    await docker.getContainer(container.id).wait();
    store = openStore();
    await finish(container);
    expectCount(await stored(), 10_000);
  });
  test('P10: the output has no gap or repetition when files of the engine go out of reach', async () => {
    const container = await run('seq 1 5000; sleep 0.5; seq 5001 10000');
    await eventually(async () => (await stored()).includes('\n5000\n'));
    await store.close();
    engine = new DockerEngine(docker, connectEngine(host), { deployment, ...engineOptions, local: false });
    await engine.facts();
    store = openStore();
    await store.preserve(container);
    await finish(container);
    expectCount(await stored(), 10_000);
  });
  test('the output exists while the container runs, and survives its removal by hand', async () => {
    const container = await run('echo early; sleep 1000');
    await eventually(async () => (await stored()) === 'early\n');
    await docker.getContainer(container.id).remove({ force: true });
    await store.release(container);
    expect(await stored()).toBe('early\n');
  });
  test('P121: the output stays within its limit, and its end stays complete', async () => {
    await store.close();
    store = new OutputStore(`${scratch}/logs`, engine, () => {}, { ...limits, maxBytes: 2 ** 20 });
    const container = await run('seq 1000001 1200000; sleep 1000');
    await eventually(async () => (await stored()).endsWith('1200000\n'));
    await store.limit();
    expect(await usedBytes()).toBeLessThan(2 ** 20 + 8192);
    await docker.getContainer(container.id).kill();
    await finish(container);
    expect(await usedBytes()).toBeLessThan(2 ** 20 + 8192);
    const numbers = (await stored()).split('\n').slice(0, -1).map(Number);
    const first = numbers[0] ?? 0;
    expect(numbers).toEqual(Array.from({ length: 1_200_001 - first }, (_, index) => first + index));
    expect(numbers.length).toBeGreaterThan(20_000);
  });
});

/** Expects every line from 1 on, once and in order. A failure shows only the first wrong line. */
function expectCount(text: string, count: number): void {
  const lines = text.split('\n');
  const wrong = lines.slice(0, -1).findIndex((line, i) => line !== String(i + 1));
  expect({ wrong, count: lines.length - 1 }).toEqual({ wrong: -1, count });
}
