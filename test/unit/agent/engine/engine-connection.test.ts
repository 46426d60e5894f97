/** The connection to an engine: its address, and its answers. */
import { homedir } from 'node:os';
import { Readable } from 'node:stream';
import { beforeEach, expect, test, vi } from 'vitest';
import { EngineInfo } from '../../../../agent/engine/docker/docker-engine.ts';
import { EngineError } from '../../../../agent/engine/engine.ts';
import {
  connectEngine,
  pingEngine,
  socketOf,
  unixHost,
  usualHosts,
} from '../../../../agent/engine/engine-address.ts';
import { jsonLines } from '../../../../agent/engine/json-lines.ts';
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
  expect(['unix:///run/x', 'unix://'].map(socketOf)).toEqual(['/run/x', '/var/run/docker.sock']);
  expect(['tcp://a:1', 'ssh://a'].map(socketOf)).toEqual([undefined, undefined]);
  const usual = ['unix:///var/run/docker.sock', `unix://${homedir()}/.docker/run/docker.sock`];
  expect(usualHosts({})).toEqual(usual);
  expect(usualHosts({ XDG_RUNTIME_DIR: '/run/u' })).toEqual([...usual, 'unix:///run/u/docker.sock']);
  vi.stubEnv('DOCKER_HOST', 'tcp://engine.example:2375');
  const { modem } = connectEngine('tcp://engine.example:2375', 7);
  vi.unstubAllEnvs();
  expect(modem).toMatchObject({ host: 'engine.example', timeout: 7 });
  expect(connectEngine('unix:///run/x').modem).toMatchObject({ socketPath: '/run/x', timeout: undefined });
});

test('lines of JSON are read whatever their pieces', async () => {
  const pieces = ['{"a":1}\n{"a', '":2}\n\n', '{"a":3}', ''].map((one) => Buffer.from(one));
  const found: unknown[] = [];
  for await (const { a } of jsonLines<{ a: unknown }>(Readable.from(pieces))) found.push(a);
  expect(found).toEqual([1, 2, 3]);
  for await (const line of jsonLines(Readable.from([]))) expect.unreachable(String(line));
});
