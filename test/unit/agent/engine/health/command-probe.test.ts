import { expect, test } from 'vitest';
import { CommandProbe, imageCommand } from '../../../../../agent/engine/health/command-probe.ts';
import type { Target } from '../../../../../agent/engine/health/target.ts';
import { engineWith } from '../../../../support/engines/scripted-engine.ts';

const target: Target = {
  id: 'c1',
  pid: 1,
  owner: 'alice',
  address: '',
  network: '',
  image: 'i1',
  commands: [],
};

/** A probe at an engine that never answers these requests. */
async function probeAt(isSilent: (url: string) => boolean) {
  const ended: number[] = [];
  const docker = await engineWith(({ url = '' }, answer) => {
    if (isSilent(url)) return;
    if (url.endsWith('/start')) return answer.writeHead(200).end();
    const exec = { Id: 'e1', Running: true, ExitCode: null, Pid: 7, ProcessConfig: { entrypoint: 'true' } };
    answer.writeHead(url.endsWith('/exec') ? 201 : 200, { 'Content-Type': 'application/json' });
    answer.end(JSON.stringify(exec));
  });
  const end = async (_: unknown, pid: number) => ended.push(pid) > 0;
  return { ended, probe: new CommandProbe({ docker, streams: docker, end, engineMs: 100 }) };
}

test('P212: an engine that never answers ends a check soon after its timeout, and tells nothing about the container', async () => {
  for (const silent of [/exec$/, /start$/, /json$/]) {
    const { probe } = await probeAt((url) => silent.test(url));
    expect(await probe.run(target, ['true'], 100)).toEqual({ result: 'unknown', detail: '' });
    expect(await probe.run({ ...target, id: 'c2' }, null, 100)).toMatchObject({ result: 'unknown' });
  }
});

test('P212: a command whose output has ended is awaited until its time is over, and is then ended', async () => {
  const { probe, ended } = await probeAt(() => false);
  expect(await probe.run(target, ['true'], 100)).toEqual({
    result: 'failed',
    detail: 'the command did not end within 0.1 s',
  });
  expect(ended).toEqual([7]);
});

test.each([
  [{ Healthcheck: { Test: ['CMD', 'check', '--all'] } }, ['check', '--all']],
  [{ Healthcheck: { Test: ['CMD-SHELL', 'check | grep ok'] } }, ['/bin/sh', '-c', 'check | grep ok']],
  [
    { Healthcheck: { Test: ['CMD-SHELL', 'check'] }, Shell: ['/bin/bash', '-ec'] },
    ['/bin/bash', '-ec', 'check'],
  ],
  [{ Healthcheck: { Test: ['NONE'] } }, undefined],
  [{ Healthcheck: { Test: ['CMD'] } }, undefined],
  [{ Healthcheck: {} }, undefined],
  [{}, undefined],
])('P212: of an image with %j the check runs %j', async (Config, words) => {
  const docker = await engineWith((_, answer) => {
    answer.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ Config }));
  });
  expect(await imageCommand(docker, 'i1')).toEqual(words);
});
