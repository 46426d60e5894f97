/** Copies into a service and out of it, from the command line to a real engine. */
import { spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CommandLine } from '../../../support/clients/command-line.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let berth: Berth;
let home: string;
let cli: CommandLine;
let id: string;
const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  home = await scratchFolder('berth-home-');
  berth = await startBerth({ deployment: 'e2e-copies' });
  cli = new CommandLine(home);
  await cli.logIn(berth.url, PASSWORD);
  const execution = await berth.api.submit(application(script('mkdir -p /srv; exec sleep 600')));
  await berth.api.waitFor(execution, 'running');
  id = String(execution);
});
afterAll(async () => {
  await berth.api.terminate(Number(id));
  await berth.api.waitFor(Number(id), 'terminated');
  await berth.close();
  await rm(home, { recursive: true, force: true });
});

const sh = async (text: string) => (await cli.run(['exec', id, '--', 'sh', '-c', text])).out.trim();

test('L168: a folder goes into a service and comes back the same, with large files, links and rights', async () => {
  const folder = join(home, 'data');
  const content = randomBytes(3_000_000);
  mkdirSync(join(folder, 'sub'), { recursive: true });
  writeFileSync(join(folder, 'sub', 'large'), content);
  writeFileSync(join(folder, 'run'), '#!/bin/sh\n');
  chmodSync(join(folder, 'run'), 0o750);
  symlinkSync('../run', join(folder, 'sub', 'link'));
  symlinkSync('/etc/passwd', join(folder, 'out'));
  const into = await cli.run(['cp', folder, `${id}:/srv`]);
  expect([into.code, into.err]).toEqual([
    0,
    expect.stringMatching(/Left out: .*out.*\nCopied 2\.9 MiB, .*\/s\.\n/),
  ]);
  expect(await sh('cd /srv/data; sha256sum < sub/large; stat -c %a run; readlink sub/link; ls -A . ..')).toBe(
    `${sha(content)}  -\n750\n../run\n.:\nrun\nsub\n\n..:\ndata`,
  );
  const back = await cli.run(['cp', '--quiet', `${id}:/srv/data`, join(home, 'back')]);
  expect([back.code, back.err]).toEqual([0, '']);
  expect(sha(readFileSync(join(home, 'back', 'sub', 'large')))).toBe(sha(content));
  expect(statSync(join(home, 'back', 'run')).mode & 0o777).toBe(0o750);
  const again = await cli.run(['cp', `${id}:/srv/data`, join(home, 'back', '..', 'back')]);
  expect([again.code, again.err]).toEqual([0, expect.stringContaining('Copied')]);
  expect(readdirSync(join(home, 'back')).sort()).toEqual(['data', 'run', 'sub']);
});
test('L169: links of a hostile service are left out, and what is there already stays', async () => {
  await sh(
    'mkdir -p /srv/evil/a; cd /srv/evil; ln -s /etc a/abs; ln -s ../../.. a/up; ln -s a/../.. x; echo y > f',
  );
  const { code, err } = await cli.run(['cp', `${id}:/srv/evil`, home]);
  expect([code, err.match(/Left out/g)?.length]).toEqual([0, 3]);
  expect([readdirSync(join(home, 'evil')).sort(), readdirSync(join(home, 'evil', 'a'))]).toEqual([
    ['a', 'f'],
    [],
  ]);
  const second = await cli.run(['cp', `${id}:/srv/evil`, home]);
  expect([second.code, second.err]).toEqual([125, expect.stringContaining('is a folder that exists')]);
  const none = await cli.run(['cp', `${id}:/srv/none`, home]);
  expect([none.code, none.err]).toEqual([125, expect.stringContaining('none: no such file or folder')]);
});
test('L170: a copy that is interrupted leaves nothing, in either direction', async () => {
  await sh('dd if=/dev/zero of=/srv/zeros bs=1M count=100 2>/dev/null');
  const out = cli.start(['cp', `${id}:/srv/zeros`, join(home, 'zeros')]);
  await eventually(() => expect(readdirSync(home).join()).toContain('.berth-cp-'));
  out.interrupt();
  expect((await out.ended).code).toBe(130);
  expect(readdirSync(home).join()).not.toMatch(/zeros|berth-cp/);
  await sh('rm /srv/zeros');
  writeFileSync(join(home, 'big'), Buffer.alloc(200_000_000));
  const into = cli.start(['cp', join(home, 'big'), `${id}:/srv/big`]);
  await eventually(async () => expect(await sh('ls -A /srv')).toContain('.berth-cp-'));
  into.interrupt();
  expect((await into.ended).code).toBe(130);
  await eventually(async () => expect(await sh('ls -A /srv')).toBe('data\nevil'));
  rmSync(join(home, 'big'));
});
test('L171: a dash is a tar archive on the standard input and output', async () => {
  const archive = spawnSync('tar', ['-c', '-C', home, 'evil']).stdout.toString();
  const into = await cli.run(['cp', '-', `${id}:/srv/piped`], archive);
  expect(into.code).toBe(0);
  const out = cli.start(['cp', '-q', `${id}:/srv/piped`, '-']);
  expect((await out.ended).code).toBe(0);
  const list = spawnSync('tar', ['-t'], { input: out.out() }).stdout.toString();
  expect(
    list
      .split('\n')
      .filter((line) => line !== '')
      .sort(),
  ).toEqual(['piped/', 'piped/a/', 'piped/f']);
});
test('L168: exactly one of the paths is in a service', async () => {
  for (const words of [
    ['a', 'b'],
    ['1:/a', '2:/b'],
    ['1:', 'b'],
  ])
    expect((await cli.run(['cp', ...words])).code).toBe(125);
});
