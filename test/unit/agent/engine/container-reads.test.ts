/** What the agent reads of containers, at an engine in memory. */
import { linkSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import type Docker from 'dockerode';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { countFiles, readDiskUse } from '../../../../agent/engine/docker/container-disk-use.ts';
import { readContainer, readSummary } from '../../../../agent/engine/docker/container-state.ts';
import { readUsage } from '../../../../agent/engine/docker/container-usage.ts';
import { freeHostPorts } from '../../../../agent/engine/docker/host-ports.ts';
import { followOutput } from '../../../../agent/engine/docker/output-stream.ts';
import { startErrorOf } from '../../../../agent/engine/docker/start-error.ts';
import { requirePlatform } from '../../../../agent/engine/pulls/platform.ts';
import { errorOf } from '../../../support/engines/docker-rig.ts';
import { ScriptedEngine } from '../../../support/engines/scripted-engine.ts';
import { frame } from '../../../support/fixtures/engine-frames.ts';

let engine: ScriptedEngine;
let docker: Docker;
beforeEach(async () => {
  ({ engine, docker } = await ScriptedEngine.open());
});
const signal = new AbortController().signal;
const MISSING = { status: 404, body: { message: 'No such container' } };
const TROUBLE = { status: 500, body: { message: 'trouble' } };

describe('its state', () => {
  const labels = (more: object = {}) => ({ 'berth.service': '1', 'berth.generation': '1', ...more });
  const summaryOf = (State: string, Labels: object = labels(), health?: 'healthy') =>
    readSummary({ Id: 'a', Labels, State } as never, health);
  const containerOf = (State: object, more = {}, Labels: object = labels(), HostConfig = {}) =>
    readContainer({
      ...{ Id: 'a', Config: { Labels }, HostConfig, NetworkSettings: { Networks: {}, ...more } },
      State: { StartedAt: '2026-01-01T00:00:00Z', FinishedAt: '0001-01-01T00:00:00Z', ...State },
    } as never);
  const key = { id: 'a', service: 1, generation: 1 };

  test('P10: the seven states of the engine are three, and a paused container is marked', () => {
    const states = ['created', 'running', 'restarting', 'exited', 'dead', 'removing'];
    expect(states.map((one) => summaryOf(one)?.state)).toEqual([
      ...['created', 'running', 'running', 'exited', 'exited', 'exited'],
    ]);
    expect(summaryOf('running')).toEqual({ ...key, state: 'running' });
    expect(summaryOf('paused', labels(), 'healthy')).toEqual({
      ...{ ...key, state: 'running', paused: true, health: 'healthy' },
    });
    expect(containerOf({ Status: 'paused' })).toMatchObject({ state: 'running', paused: true });
    expect(containerOf({ Status: 'running' })).not.toHaveProperty('paused');
  });
  test('P6: a container whose labels have no ids is not of Berth', () => {
    for (const wrong of [{ 'berth.service': '0' }, { 'berth.generation': '0' }, { 'berth.service': 'x' }]) {
      expect(summaryOf('running', labels(wrong))).toBeUndefined();
      expect(containerOf({ Status: 'created' }, {}, labels(wrong))).toBeUndefined();
    }
  });
  test('P143, C81: labels have the execution, a proof of usual form and the cores, unless another version made it', () => {
    const all = { 'berth.execution': '7', 'berth.id-proof': 'a-proof_1', 'berth.cores.min': '0.5' };
    const limit = { NanoCpus: 1.5e9 };
    expect(containerOf({ Status: 'created' }, {}, labels(all), limit)).toMatchObject({
      ...{ execution: 7, idProof: 'a-proof_1', cpu: { min: 0.5, max: null, limit: 1.5 } },
    });
    const max = { ...all, 'berth.cores.max': '2' };
    expect(containerOf({ Status: 'created' }, {}, labels(max))?.cpu).toEqual({ min: 0.5, max: 2, limit: 0 });
    expect(containerOf({ Status: 'created' })).toEqual({ ...key, state: 'created' });
    for (const text of ['', '../../x', 'a b', 'x'.repeat(65), 'x'.repeat(1_000_000)]) {
      const found = containerOf({ Status: 'created' }, {}, labels({ ...all, 'berth.id-proof': text }));
      expect(found).toMatchObject({ execution: 7, idProof: undefined });
    }
  });
  test('P303: a port is shown if it has one number over all families', () => {
    const at = (...numbers: string[]) => numbers.map((HostPort) => ({ HostPort }));
    const Ports = {
      ...{ '80/tcp': at('1000', '1000'), '53/udp': at('2000'), '81/tcp': at('3000', '3001') },
      ...{ '82/tcp': at('4000', '4001', '4002'), '83/sctp': at('5000'), '84/tcp': null },
    };
    const Networks = { n: { IPAddress: '10.0.0.2' } };
    expect(containerOf({ Status: 'running' }, { Networks, Ports })).toMatchObject({
      ipAddress: '10.0.0.2',
      startedAtMs: Date.parse('2026-01-01T00:00:00Z'),
      ports: [
        { port: 80, protocol: 'tcp', hostPort: 1000 },
        { port: 53, protocol: 'udp', hostPort: 2000 },
      ],
    });
    expect(containerOf({ Status: 'running' })).toMatchObject({ ipAddress: '', ports: [] });
    for (const never of ['0001-01-01T00:00:00Z', ''])
      expect(containerOf({ Status: 'exited', FinishedAt: never })).toMatchObject({ finishedAtMs: 0 });
  });
});

describe('P307: a command that could not be run', () => {
  const START = Date.parse('2026-01-01T00:00:00Z');
  const infoOf = (Path: string, info: Record<string, unknown>) => {
    const { ranMs = 1_000, code = 127, Init = true, ...Config } = info;
    const [StartedAt, FinishedAt] = [START, START + Number(ranMs)].map((ms) => new Date(ms).toISOString());
    const State = { ExitCode: code, StartedAt, FinishedAt };
    return { Id: 'c1', Path, HostConfig: { Init }, Config, State } as never;
  };
  /** A file's mode in Go's form, or a link. */
  const stat = (found: number | string) => {
    const file =
      typeof found === 'number' ? { mode: found, linkTarget: '' } : { mode: 0o777, linkTarget: found };
    const coded = Buffer.from(JSON.stringify(file)).toString('base64');
    return { status: 200, headers: { 'x-docker-container-path-stat': coded } };
  };
  const words = (program: string, channel = 2) =>
    frame(`[FATAL tini (7)] exec ${program} failed: No such file\n`, channel);
  const found = async (
    Path: string,
    files: Record<string, number | string> = {},
    { out = words(Path), ...info }: Record<string, unknown> = {},
  ) => {
    engine.instead = (request) => {
      if (request.includes('/logs')) return { status: 200, body: out as Buffer };
      const file = files[request.split('?path=')[1] ?? ''];
      return request.startsWith('HEAD') ? (file === undefined ? MISSING : stat(file)) : undefined;
    };
    return (await startErrorOf(docker, infoOf(Path, info)))?.replace(`exec ${Path} failed: `, '');
  };
  const REASON = 'No such file';
  const FOLDER = 0x8000_0000;
  const inW = { WorkingDir: '/w' };

  test.each<[string, Parameters<typeof found>, string | undefined]>([
    ['no such program', ['sh'], REASON],
    ['the other exit code', ['sh', {}, { code: 126 }], REASON],
    ['another exit code', ['sh', {}, { code: 1 }], undefined],
    ['no init process', ['sh', {}, { Init: false }], undefined],
    ['a command that ran for long', ['sh', {}, { ranMs: 5_001 }], undefined],
    ['the words on stdout', ['sh', {}, { out: words('sh', 1) }], undefined],
    ['more output', ['sh', {}, { out: Buffer.concat([words('sh'), frame('more\n', 2)]) }], undefined],
    ['the words about another program', ['sh', {}, { out: words('other') }], undefined],
    ['a program on the usual path', ['sh', { '/bin/sh': 0o755 }], undefined],
    ['a file that may not be executed', ['sh', { '/bin/sh': 0o644 }], REASON],
    ['a folder', ['sh', { '/bin/sh': FOLDER + 0o755 }], REASON],
    ['a link to a program', ['sh', { '/bin/sh': '/x', '/x': 0o100 }], undefined],
    ['a link to nothing', ['sh', { '/bin/sh': '/x' }], REASON],
    ['a program outside its path', ['sh', { '/bin/sh': 0o755 }, { Env: ['PATH=/bin', 'PATH=/a'] }], REASON],
    ['a program on its path', ['sh', { '/b/sh': 0o755 }, { Env: ['PATH=/a:/b', 'X=/c'] }], undefined],
    ['one in its working folder', ['sh', { '/w/sh': 0o755 }, { ...inW, Env: ['PATH=/a:'] }], undefined],
    ['an absolute command', ['/x/sh', { '/x/sh': 0o755 }, inW], undefined],
    ['an absolute command that is elsewhere', ['/x/sh', { '/bin//x/sh': 0o755 }], REASON],
    ['a relative command', ['./sh', { '/w/./sh': 0o755 }, inW], undefined],
    ['a relative command that is elsewhere', ['./sh', { '/bin/./sh': 0o755 }], REASON],
  ])('is told from one that was: %s', async (_, wanted, reason) => {
    expect(await found(...wanted)).toBe(reason);
    for (const request of engine.requests.filter((one) => one.includes('logs')))
      expect(request).toMatch(/stdout=true&stderr=true&tail=2/);
  });
  test('is not reported while the engine is away', async () => {
    engine.instead = (request) => (request.includes('logs') ? { status: 200, body: words('sh') } : 'loss');
    await expect(startErrorOf(docker, infoOf('sh', {}))).rejects.toThrow();
  });
});

describe('what it holds on the disk', () => {
  const used = (...paths: string[]) => paths.reduce((sum, path) => sum + statSync(path).blocks * 512, 0);
  let at: string;
  const described = (changes: object = {}) => {
    const info = {
      ...{ Id: 'c1', State: { Pid: 0 }, GraphDriver: { Data: { UpperDir: `${at}/layer` } }, Mounts: [] },
      ...{ HostsPath: `${at}/etc`, HostnamePath: `${at}/none`, ResolvConfPath: `${at}/etc`, ...changes },
    };
    engine.instead = (request) => {
      if (request.startsWith('GET /volumes/')) {
        const Options = request.endsWith('/named') ? { type: 'none' } : request.endsWith('/null') ? null : {};
        return { status: 200, body: { Options } };
      }
      return { status: 200, body: { ...info, SizeRw: request.includes('size=true') ? 7 : undefined } };
    };
  };
  beforeEach(() => {
    at = engine.folder;
    for (const folder of ['layer/sub', 'own', 'named', 'null'])
      mkdirSync(`${at}/${folder}`, { recursive: true });
    for (const file of ['layer/a', 'layer/sub/b', 'own/c', 'named/d', 'null/e', 'etc', 'output'])
      writeFileSync(`${at}/${file}`, 'x'.repeat(10_000));
    linkSync(`${at}/layer/a`, `${at}/layer/a2`);
  });

  test('P147: its layer, its anonymous volumes and its files in /etc count, a file with two links once', async () => {
    const mount = (Name?: string, Type = 'volume') => ({ Type, Name, Source: `${at}/${Name ?? 'own'}` });
    const named = [mount('own'), mount('null'), mount('named'), mount('named', 'bind')];
    described({ Mounts: [...named, mount(), { ...mount('own'), Source: '/proc' }] });
    const counted = ['layer', 'layer/a', 'layer/sub', 'layer/sub/b', 'own', 'own/c', 'null', 'null/e'];
    expect(await readDiskUse(docker, 'c1', `${at}/output`, 5_000)).toEqual({
      bytes: used(...[...counted, 'etc', 'etc'].map((one) => `${at}/${one}`)),
      ...{ outputBytes: used(`${at}/output`), files: counted.length, isComplete: true },
    });
    described();
    expect(await readDiskUse(docker, 'c1', `${at}/output`, 5_000)).toMatchObject({ files: 4 });
  });
  test('P147: the engine measures where the agent cannot count', async () => {
    const measured = { bytes: 7, outputBytes: 0, files: null, isComplete: true };
    described();
    expect(await readDiskUse(docker, 'c1', undefined, 5_000)).toEqual(measured);
    const etc = used(`${at}/etc`);
    for (const layer of [undefined, `${at}/none`]) {
      described({ GraphDriver: { Data: { UpperDir: layer } } });
      expect(await readDiskUse(docker, 'c1', `${at}/output`, 5_000)).toEqual({
        ...{ ...measured, bytes: 7 + 2 * etc, outputBytes: used(`${at}/output`) },
      });
    }
    engine.instead = () => MISSING;
    expect(await readDiskUse(docker, 'c1', undefined, 5_000)).toBeUndefined();
    engine.instead = () => TROUBLE;
    expect(await errorOf(readDiskUse(docker, 'c1', undefined, 5_000))).toMatchObject({ kind: 'temporary' });
  });
  test('P147: files that cannot all be counted are not counted, or count as incomplete', async () => {
    const find = (script: string) => {
      writeFileSync(`${at}/find`, `#!/bin/sh\n${script}\n`, { mode: 0o700 });
      vi.stubEnv('PATH', `${at}:${process.env.PATH}`);
      return countFiles([at], 300).finally(() => vi.unstubAllEnvs());
    };
    expect(await find('echo 8 1; echo "find: x: Permission denied" >&2')).toBeUndefined();
    const one = { bytes: 4096, files: 1, isComplete: true };
    expect(await find('echo 8 1; echo "find: x: No such file" >&2')).toEqual(one);
    const cut = await find('printf "8 "; sleep 0.01; echo 1; exec sleep 9');
    expect(cut).toEqual({ ...one, isComplete: false });
  });
});

test('P50: usage is measured of those that run; what the engine refuses fails only if nothing was measured', async () => {
  const stats = { read: '2026-01-01T00:00:00Z', cpu_stats: { cpu_usage: { total_usage: 1e6 } } };
  const use = (ids: string, ApiVersion = '1.41', by = signal) => {
    engine.instead = (request) => {
      if (request === 'GET /version') return { status: 200, body: { ApiVersion } };
      const id = /containers\/(.)/.exec(request)?.[1];
      if (id === 'm') return MISSING;
      return id === 't'
        ? TROUBLE
        : { status: 200, body: { ...stats, memory_stats: id === 'e' ? {} : { usage: 5, stats: {} } } };
    };
    return readUsage(docker, ids.split(''), by).then((found) => [...found.keys()].join(''));
  };
  expect(await use('amebt')).toBe('ab');
  expect(await use('at')).toBe('a');
  expect(engine.requests.at(-1)).toMatch(/stats\?stream=false&one-shot=true/);
  expect(await use('me')).toBe('');
  await expect(use('mt')).rejects.toThrow('trouble');
  for (const version of ['1.42', '1.100', '2.0']) expect(await use('a', version)).toBe('a');
  for (const old of ['1.40', '0.99', ''])
    await expect(use('a', old)).rejects.toThrow('cannot measure usage at once');
  expect(engine.count(/stats/)).toBe(14);
});

test('P10: its output is requested with times, from the wanted one on, until the container ends', async () => {
  const records = async () => {
    for await (const { line } of followOutput(docker, 'c1', 1_000_000_005n, signal)) return line.toString();
    return undefined;
  };
  engine.instead = () => ({ status: 200, body: frame('2026-01-01T00:00:00Z hello\n') });
  expect(await records()).toBe('hello');
  expect(engine.requests).toEqual([
    'GET /containers/c1/logs?follow=true&stdout=true&stderr=true&timestamps=true&since=1.000000005',
  ]);
  engine.instead = () => MISSING;
  expect(await errorOf(records())).toMatchObject({ name: 'EngineError' });
});

test('P303: each port of the host is another one, and free again', async () => {
  const wanted = (['tcp', 'udp', 'tcp', 'udp'] as const).map((protocol) => ({ protocol }));
  const first = await freeHostPorts(wanted);
  expect(new Set([first[0], first[2]]).size + new Set([first[1], first[3]]).size).toBe(4);
  expect(await freeHostPorts([])).toEqual([]);
});

test.each([
  ['x86_64', 'linux', 'amd64', true],
  ['x86_64', 'linux', '386', true],
  ['aarch64', 'linux', 'arm', true],
  ['riscv64', 'linux', 'riscv64', true],
  ['x86_64', 'linux', '', true],
  ['x86_64', '', 'amd64', true],
  ['x86_64', 'windows', 'amd64', false],
  ['x86_64', 'linux', 'none', false],
  ['x86_64', 'windows', 'none', false],
])('P308: whether an engine on %s runs an image for %s/%s: %j', async (own, Os, Architecture, runs) => {
  for (const isLocal of [false, true]) {
    engine.instead = (request) => ({
      status: 200,
      body: request.includes('images') ? { Os, Architecture } : { Image: 'i' },
    });
    const platform = { OSType: 'linux', Architecture: own };
    const error = await requirePlatform(docker, 'c1', 'x:1', platform, isLocal).catch((one) => one);
    expect(error?.kind).toBe(runs ? undefined : 'permanent');
    expect(engine.count(/^DELETE .containers.c1\?v=true/)).toBe(runs ? 0 : isLocal ? 2 : 1);
  }
});
