/** The connection to an engine: its address, its answers, and how many tasks run at once. */
import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { Readable } from 'node:stream';
import { beforeEach, expect, test, vi } from 'vitest';
import { capabilityOf } from '../../../../agent/engine/capabilities.ts';
import { EngineInfo } from '../../../../agent/engine/docker/engine-info.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import {
  connectEngine,
  pingEngine,
  socketOf,
  unixHost,
  usualHosts,
} from '../../../../agent/engine/engine-address.ts';
import { filesIn } from '../../../../agent/engine/engine-files.ts';
import { jsonLines } from '../../../../agent/engine/json-lines.ts';
import { Lane } from '../../../../agent/engine/lane.ts';
import { ScriptedEngine } from '../../../support/engines/scripted-engine.ts';

let engine: ScriptedEngine;
beforeEach(async () => {
  ({ engine } = await ScriptedEngine.open());
});

test('P49: an engine that answers is there, and one that does not, or breaks off, is away', async () => {
  const host = unixHost(engine.socket);
  engine.instead = () => ({ status: 200, body: 'OK' });
  expect(await pingEngine(host)).toBeNull();
  for (const answer of ['loss', 'silence'] as const) {
    engine.instead = () => answer;
    expect(await pingEngine(host, 20)).toBeInstanceOf(Error);
  }
  engine.instead = () => 'break-off';
  await expect(connectEngine(host).info()).rejects.toThrow("the engine's answer broke off");
});

test('P49: the description of an engine is read once, and again after a failure or on request', async () => {
  const info = new EngineInfo(connectEngine(unixHost(engine.socket)));
  engine.instead = () => 'loss';
  await expect(info.read()).rejects.toThrow(EngineError);
  engine.instead = () => undefined;
  expect(await info.identity()).toBe('E1 /nowhere');
  await info.read();
  expect(engine.requests).toHaveLength(2);
  engine.info.ID = 'E2';
  await info.refresh();
  expect(await info.identity()).toBe('E2 /nowhere');
});

test('an engine is at a socket, or where the environment says', () => {
  expect(['unix:///run/x', 'unix://', 'tcp://a:1', 'ssh://a'].map(socketOf)).toEqual([
    ...['/run/x', '/var/run/docker.sock', undefined, undefined],
  ]);
  const usual = ['unix:///var/run/docker.sock', `unix://${homedir()}/.docker/run/docker.sock`];
  expect(usualHosts({})).toEqual(usual);
  expect(usualHosts({ XDG_RUNTIME_DIR: '/run/user/1' })).toEqual([
    ...usual,
    'unix:///run/user/1/docker.sock',
  ]);
  vi.stubEnv('DOCKER_HOST', 'tcp://engine.example:2375');
  const { modem } = connectEngine('tcp://engine.example:2375', 7);
  vi.unstubAllEnvs();
  expect(modem).toMatchObject({ host: 'engine.example', timeout: 7 });
  expect(connectEngine('unix:///run/x').modem).toMatchObject({ socketPath: '/run/x', timeout: undefined });
});

test('P121: the output of containers is in the folder of the engine, if the agent may look there', async () => {
  expect(await filesIn(engine.folder)).toBeUndefined();
  await mkdir(`${engine.folder}/containers`);
  const files = await filesIn(engine.folder);
  expect(files?.output('c1')).toBe(`${engine.folder}/containers/c1/local-logs/container.log`);
});

test.each([
  [
    ['{"a":1}\n{"a', '":2}\n\n', '{"a":3}'],
    [1, 2, 3],
  ],
  [[], []],
])('lines of JSON are read whatever the pieces %j', async (pieces, expected) => {
  const found: unknown[] = [];
  for await (const { a } of jsonLines<{ a: unknown }>(Readable.from(pieces.map((one) => Buffer.from(one)))))
    found.push(a);
  expect(found).toEqual(expected);
});

test('a lane runs as many tasks at once as it is wide, in their order, and goes on after a failure', async () => {
  const lane = new Lane(2);
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const task = (nth: number) =>
    lane.run(async () => {
      begun.push(nth);
      await new Promise<void>((done) => ends.push(done));
      if (nth === 0) throw new Error('it failed');
    });
  const tasks = [0, 1, 2, 3].map((nth) => task(nth).catch(() => {}));
  await Promise.resolve();
  expect(begun).toEqual([0, 1]);
  ends[0]?.();
  await vi.waitFor(() => expect(begun).toEqual([0, 1, 2]), { interval: 1 });
  for (const at of [1, 2]) ends[at]?.();
  await vi.waitFor(() => expect(begun).toEqual([0, 1, 2, 3]), { interval: 1 });
  ends[3]?.();
  await Promise.all(tasks);
  const more = [4, 5, 6].map(task);
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  ends[4]?.();
  ends[5]?.();
  await vi.waitFor(() => expect(ends).toHaveLength(7), { interval: 1 });
  ends[6]?.();
  await Promise.all(more);
});

test('P107: a capability is named with or without its prefix, and ALL is none', () => {
  expect(['net_raw', 'CAP_NET_RAW', 'CHOWN', 'ALL', ''].map(capabilityOf)).toEqual([
    ...['NET_RAW', 'NET_RAW', 'CHOWN', undefined, undefined],
  ]);
});
