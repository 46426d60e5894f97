import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import {
  CommandOutput,
  CommandProbe,
  imageCommand,
  requireImageCommand,
} from '../../../../../agent/engine/health/command-probe.ts';
import { HostAddresses } from '../../../../../agent/engine/health/host-addresses.ts';
import type { Target } from '../../../../../agent/engine/health/target.ts';
import { engineWith, scriptedEngine } from '../../../../support/engines/scripted-engine.ts';
import { frame } from '../../../../support/fixtures/engine-frames.ts';

const at = { pid: 1, owner: 'alice', address: '', network: '' };
const target: Target = { ...at, id: 'c1', image: 'i1', commands: [] };

test.each([
  [{ Test: ['CMD', 'check', '--all'] }, undefined, ['check', '--all']],
  [{ Test: ['CMD-SHELL', 'check | grep ok'] }, undefined, ['/bin/sh', '-c', 'check | grep ok']],
  [{ Test: ['CMD-SHELL', 'check'] }, ['/bin/bash', '-ec'], ['/bin/bash', '-ec', 'check']],
  [{ Test: ['NONE'] }, undefined, undefined],
  [{ Test: ['CMD'] }, undefined, undefined],
  [{}, undefined, undefined],
  [undefined, undefined, undefined],
])('P212: of an image with check %j and shell %j the check runs %j', async (Healthcheck, Shell, words) => {
  const docker = await engineWith((_, answer) => {
    answer.writeHead(200, { 'Content-Type': 'application/json' });
    answer.end(JSON.stringify({ Config: { Healthcheck, Shell } }));
  });
  expect(await imageCommand(docker, 'i1')).toEqual(words);
});

interface Command {
  Running: boolean;
  ExitCode: number | null;
  Pid: number;
  ProcessConfig: { entrypoint: string; arguments?: string[] };
}

/**
 * A probe at an engine whose commands the test has, by their ids. The check's own is `e1`. The engine never
 * answers requests that match `silent`.
 */
async function rig(silent?: RegExp) {
  const commands: Record<string, Command> = {};
  const image: object = { Healthcheck: { Test: ['CMD', 'check'] } };
  const state = { output: '', status: 200, canEnd: true, image };
  const [ended, bodies, calls]: [unknown[], { Env: string[] }[], string[]] = [[], [], []];
  const docker = await engineWith(async (request, answer) => {
    const url = request.url ?? '';
    calls.push(`${request.method} ${url}`);
    if (silent?.test(url)) return;
    if (state.status === 0) return request.destroy();
    const write = (status: number, value: unknown) =>
      answer.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    if (url.endsWith('/start')) return answer.writeHead(200).end(frame(state.output));
    if (state.status !== 200) return write(state.status, { message: 'refused' });
    if (url.endsWith('/exec')) bodies.push((await json(request)) as { Env: string[] });
    if (url.endsWith('/exec')) return write(201, { Id: 'e1' });
    if (url.startsWith('/images/')) return write(200, { Config: state.image });
    if (request.method === 'DELETE') return answer.writeHead(204).end();
    const command = commands[url.split('/')[2] ?? ''];
    return command ? write(200, command) : write(404, { message: 'no such exec' });
  });
  const end = async (...of: unknown[]) => {
    ended.push(of.slice(1));
    return state.canEnd;
  };
  const probe = new CommandProbe({ docker, streams: docker, end, ...(silent && { engineMs: 100 }) });
  return { docker, state, commands, ended, bodies, calls, probe };
}
const ran = (ExitCode: number | null, Running = false): Command => ({
  ...{ Running, ExitCode, Pid: 7, ProcessConfig: { entrypoint: 'a', arguments: ['b'] } },
});
const UNKNOWN = { result: 'unknown', detail: '' };

test.each([
  [0, 'ok\n', 'passed', 'the command ended with exit code 0: ok'],
  [0, '', 'passed', 'the command ended with exit code 0'],
  [1, 'no', 'failed', 'the command ended with exit code 1: no'],
  [127, '', 'failed', 'the command ended with exit code 127 (it cannot be run)'],
  [null, '', 'failed', 'the command ended with exit code null'],
  [0, 'x'.repeat(2 ** 20 - 8), 'passed', `the command ended with exit code 0: ${'x'.repeat(200)}`],
  [0, 'x'.repeat(2 ** 20 - 7), 'failed', 'the command wrote more than 1024 KiB'],
])('P212: exit code %s and the output give the finding', async (code, output, result, detail) => {
  const { probe, state, commands, bodies, ended } = await rig();
  state.output = output;
  commands.e1 = ran(code);
  expect(await probe.run(target, ['a', 'b'], 5_000)).toEqual({ result, detail });
  const [mark = ''] = bodies[0]?.Env ?? [];
  expect(mark).toMatch(/^BERTH_CHECK=[-0-9a-f]{36}$/);
  expect(bodies).toEqual([{ Cmd: ['a', 'b'], Env: [mark], AttachStdout: true, AttachStderr: true }]);
  expect(ended).toEqual([[7, mark]]);
});

test('P212: an engine that never answers ends a check soon after its timeout, and tells nothing about the container', async () => {
  for (const silent of [/exec$/, /start$/, /json$/]) {
    const { probe } = await rig(silent);
    expect(await probe.run(target, ['true'], 100)).toEqual(UNKNOWN);
    expect(await probe.run({ ...target, id: 'c2' }, null, 100)).toMatchObject({ result: 'unknown' });
  }
});

test('P212: an engine that refuses a check says so, and one that is away or has no such container says nothing', async () => {
  for (const [status, finding] of [
    [404, UNKNOWN],
    [409, UNKNOWN],
    [500, { result: 'failed', detail: 'refused' }],
    [0, UNKNOWN],
  ] as const) {
    const { probe, state } = await rig();
    state.status = status;
    expect(await probe.run(target, ['a'], 1_000)).toEqual(finding);
    expect(await probe.run({ ...target, commands: ['e2'] }, ['a'], 1_000)).toEqual(finding);
  }
});

test('P212: a command whose output has ended is awaited until its time is over, and is then ended', async () => {
  const { probe, commands, ended } = await rig();
  commands.e1 = ran(null, true);
  expect(await probe.run(target, ['true'], 100)).toEqual({
    result: 'failed',
    detail: 'the command did not end within 0.1 s',
  });
  expect(ended).toEqual([[7, expect.stringMatching(/^BERTH_CHECK=/)]]);
});

test('P212: no command begins while an earlier one that can not be ended still runs, be it of an earlier agent', async () => {
  const { probe, state, commands, bodies, ended } = await rig();
  const check = async (commands: string[] = []) =>
    (await probe.run({ ...target, commands }, ['a', 'b'], 60)).detail;
  const runs = 'the command of the last check still runs';
  const other = { entrypoint: 'a', arguments: ['c'] };
  commands.e1 = ran(0);
  commands.old = ran(null, true);
  commands.other = { ...ran(null, true), ProcessConfig: other };
  commands.bare = { ...ran(null, true), ProcessConfig: { entrypoint: 'a' } };
  state.canEnd = false;
  expect(await check(['old'])).toBe(runs);
  // From now on those that were seen count, whatever the container has.
  commands.old = ran(0);
  expect(await check(['other'])).toContain('exit code 0');
  probe.forget('c1');
  expect(await check(['gone', 'other', 'bare'])).toContain('exit code 0');
  probe.forget('c1');
  const many = Array.from({ length: 20 }, () => 'other');
  commands.old = ran(null, true);
  expect(await check(['old', ...many])).toContain('exit code 0');
  probe.forget('c1');
  expect(await check(['old', ...many.slice(1)])).toBe(runs);
  probe.forget('c1');
  state.canEnd = true;
  ended.splice(0);
  expect(await check(['old'])).toContain('exit code 0');
  expect(ended[0]).toEqual([7]);
  const begun = bodies.length;
  commands.e1 = ran(null, true);
  state.canEnd = false;
  expect(await check()).toBe('the command did not end within 0.06 s');
  expect(await check()).toBe(runs);
  expect(bodies).toHaveLength(begun + 1);
  state.canEnd = true;
  expect(await check()).toBe('the command did not end within 0.06 s');
  expect(bodies).toHaveLength(begun + 2);
  commands.e1 = ran(0);
  expect(await check()).toContain('exit code 0');
});

test('P212: the command of an image is read once for each container, and an image without one is refused at the start', async () => {
  const { docker, probe, state, commands, bodies, calls } = await rig();
  commands.e1 = ran(0);
  for (const _ of [1, 2]) expect(await probe.run(target, null, 1_000)).toMatchObject({ result: 'passed' });
  expect(calls.filter((call) => call.includes('/images/'))).toHaveLength(1);
  expect(bodies).toMatchObject([{ Cmd: ['check'] }, { Cmd: ['check'] }]);
  probe.forget('c1');
  await requireImageCommand(docker, 'c1', 'i1');
  expect(calls.join()).not.toContain('DELETE');
  state.image = {};
  expect(await probe.run(target, null, 1_000)).toEqual(UNKNOWN);
  const refusal = { kind: 'permanent', message: expect.stringContaining('has no HEALTHCHECK') };
  await expect(requireImageCommand(docker, 'c1', 'i1')).rejects.toMatchObject(refusal);
  expect(calls.at(-1)).toBe('DELETE /containers/c1?force=true&v=true');
});

test('P211: the host reaches a container of an overlay network on its bridge, and one without a way out not at all', async () => {
  let looks = 0;
  const onBridge: Record<string, object> = { c1: { IPv4Address: '172.18.0.9/16' } };
  const { docker } = await scriptedEngine(({ call }) => {
    looks += 1;
    const id = call.split('/')[2];
    return {
      Driver: id === 'bridge' ? 'bridge' : 'overlay',
      ...(id === 'docker_gwbridge' && { Containers: onBridge }),
    };
  });
  const addresses = new HostAddresses(docker);
  const of = (id: string, network: string) => addresses.of({ ...target, id, network, address: '10.0.0.2' });
  const asked = async (id: string, network: string) => {
    const before = looks;
    return [await of(id, network), looks - before];
  };
  expect(await asked('c1', '')).toEqual(['10.0.0.2', 0]);
  expect(await asked('c1', 'bridge')).toEqual(['10.0.0.2', 1]);
  expect(await asked('c1', 'bridge')).toEqual(['10.0.0.2', 0]);
  expect(await asked('c1', 'overlay')).toEqual(['172.18.0.9', 2]);
  expect(await asked('c1', 'overlay')).toEqual(['172.18.0.9', 0]);
  expect(await asked('c2', 'overlay')).toEqual([null, 1]);
  addresses.forget('c1');
  expect(await asked('c1', 'overlay')).toEqual(['172.18.0.9', 1]);
});

test('P212: the beginning of the output is kept as one line, wherever chunks divide its frames', () => {
  const bytes = Buffer.concat([
    frame('no data'),
    frame('base\n', 2),
    frame(''),
    frame(`${'x'.repeat(400)}\u00e9`),
  ]);
  for (const size of [1, 3, 9, 10_000]) {
    const output = new CommandOutput();
    for (let at = 0; at < bytes.length; at += size) output.push(bytes.subarray(at, at + size));
    expect(output.text).toBe(`no database ${'x'.repeat(188)}`);
    expect(output.bytes).toBe(bytes.length);
  }
});

test('P212: a chunk of thousands of frames with one byte each costs no more than its length', () => {
  const output = new CommandOutput();
  const chunk = Buffer.concat(Array.from({ length: 100_000 }, () => frame('')));
  output.push(chunk);
  output.push(frame('end'));
  expect(output.text).toBe('end');
});
