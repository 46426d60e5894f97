/** The command line at a real engine: commands in services, their ports, copies, and a Compose file. */
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
import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { IMAGE } from '../../../../examples/image.ts';
import { CommandLine } from '../../../support/clients/command-line.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let berth: Berth;
let home: string;
let cli: CommandLine;
let id: string;

beforeAll(async () => {
  home = await scratchFolder('berth-home-');
  berth = await startBerth({ deployment: 'e2e-command-line' });
  cli = new CommandLine(home, { WHOM: 'you' });
  await cli.logIn(berth.url, PASSWORD);
  const execution = await berth.api.submit(
    application(script('mkdir -p /srv; exec nc -ll -p 7000 -e sed s/me/you/')),
  );
  await berth.api.waitFor(execution, 'running');
  id = String(execution);
});
afterAll(async () => {
  await berth.api.terminate(Number(id));
  await berth.api.waitFor(Number(id), 'terminated');
  await berth.close();
  await rm(home, { recursive: true, force: true });
});

test('L160: exec prints both outputs of a command, and exits with its exit code', async () => {
  const command = await cli.run(['exec', id, '--', 'sh', '-c', 'echo out; echo err >&2; exit 7']);
  expect(command).toEqual({ code: 7, out: 'out\n', err: 'err\n' });
});
test('L160: exec -i passes on the standard input, and output of 10 MB arrives whole', async () => {
  const input = randomBytes(200_000).toString('hex');
  const { out } = await cli.run(['exec', '-i', id, '--', 'sha256sum'], input);
  expect(out).toContain(createHash('sha256').update(input).digest('hex'));
  const lines = await cli.run(['exec', id, '--', 'sh', '-c', 'yes berth | head -c 10000002']);
  expect([lines.code, lines.out.length]).toEqual([0, 10_000_002]);
});
test('L160: of 10 MB, a reader that has stopped leaves all but 4 MB unwritten, and gets the rest when it goes on', async () => {
  const go = join(home, 'go');
  const reader = `| (until [ -e ${go} ]; do sleep 0.05; done; wc -c)`;
  const writer = 'sh -c "echo \\$\\$ > /tmp/writer; exec yes berth" | head -c 10000002';
  const reading = cli.piped(['exec', id, '--', 'sh', '-c', writer], reader);
  let written = 0;
  const standsStill = async () => {
    const before = written;
    const { out } = await cli.run(['exec', id, '--', 'sh', '-c', 'cat /proc/$(cat /tmp/writer)/io']);
    written = Number(/wchar: (\d+)/.exec(out)?.[1] ?? 0);
    return written > 0 && written === before;
  };
  await eventually(standsStill);
  expect(written).toBeLessThan(4_000_000);
  await writeFile(go, '');
  expect(await reading).toEqual({ code: 0, out: '10000002\n', err: '' });
});
test('L161: exec -t gives a command the terminal of the program', async () => {
  const words = [
    'sh',
    '-c',
    'until stty size | grep -q 93; do sleep 0.05; done; printf "name? "; read x; stty size; echo got $x; exit 5',
  ];
  const { code, out } = await cli.onTerminal(['exec', '-it', id, '--', ...words], {
    columns: 93,
    answers: [['name?', 'somebody']],
  });
  expect(out).toMatch(/ 93\r+\n/);
  expect(out).toContain('got somebody');
  expect(code).toBe(5);
});
test('L162: Ctrl-C reaches the command, whose exit code is that of the program', async () => {
  const command = cli.start([
    'exec',
    id,
    '--',
    'sh',
    '-c',
    'trap "exit 9" INT; echo up; while true; do sleep 0.1; done',
  ]);
  await eventually(() => expect(command.out()).toBe('up\n'));
  command.interrupt();
  expect((await command.ended).code).toBe(9);
});
test('L167: with -it, control keys reach the command', async () => {
  const words = ['sh', '-c', 'stty raw -echo; printf up; head -c 3 | od -An -tx1'];
  const { code, out } = await cli.onTerminal(['exec', '-it', id, '--', ...words], {
    answers: [['up', '\x03\x1a']],
  });
  expect([code, out]).toEqual([0, expect.stringContaining('03 1a 0d')]);
});
test('L167: whatever ends exec -it, the terminal is as it was before, and the command ends', async () => {
  const words = ['exec', '-it', id, '--', 'sh', '-c', 'trap "" TERM; echo up; sleep 1234'];
  for (const [signal, code] of [
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    const ended = await cli.onTerminalUntil(words, 'up\r', (pid) => process.kill(pid, signal));
    expect(ended).toMatchObject({ code, after: ended.before });
  }
  const { pid } = await cli.onTerminalUntil(words, 'up\r', (_, terminal) => terminal.kill('SIGKILL'));
  await eventually(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'));
  await eventually(async () =>
    expect((await cli.run(['exec', id, '--', 'ps'])).out).not.toContain('sleep 1234'),
  );
});
test('L167: without -t, Ctrl-C ends a command with 130', async () => {
  const command = cli.start(['exec', id, '--', 'sh', '-c', 'echo up; exec sleep 100']);
  await eventually(() => expect(command.out()).toBe('up\n'));
  command.interrupt();
  expect(await command.ended).toMatchObject({ code: 130, err: '' });
});
test('L167: a reader that has enough ends the command quietly, and one of the errors changes nothing', async () => {
  const enough = await cli.piped(['exec', id, '--', 'sh', '-c', 'yes $((42 * 10001))'], '| head -n 1');
  expect(enough).toEqual({ code: 0, out: '420042\n', err: '' });
  await eventually(async () => expect((await cli.run(['exec', id, '--', 'ps'])).out).not.toContain('yes'));
  const script = 'for i in $(seq 9); do seq 9999 >&2; done; echo out; exit 7';
  const silent = await cli.piped(['exec', id, '--', 'sh', '-c', script], '2> >(head -n 1 >/dev/null)');
  expect(silent).toEqual({ code: 7, out: 'out\n', err: '' });
});
test('L167: the end of a pipe ends the input of the command', async () => {
  expect((await cli.piped(['exec', '-i', id, '--', 'cat'], '< <(echo piped)')).out).toBe('piped\n');
});
test('L163: forward carries connections to a port of a service', async () => {
  const command = cli.start(['forward', id, '0:7000']);
  const port = await eventually(() => /127\.0\.0\.1:(\d+)/.exec(command.err())?.[1]);
  const answers = ['first', 'second'].map((word) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.end(`${word} me\n`);
    return text(socket);
  });
  expect(await Promise.all(answers)).toEqual(['first you\n', 'second you\n']);
  command.interrupt();
  expect((await command.ended).code).toBe(130);
});
test('L160: a command in a service that has ended fails, and says why', async () => {
  const { code, err } = await cli.run(['exec', `${id}/none`, '--', 'true']);
  expect([code, err]).toEqual([125, expect.stringContaining('has no service none')]);
});

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
/** What a shell in the service prints. */
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
test('L168: exactly one of the paths is in a service', async () => {
  for (const paths of [
    ['a', 'b'],
    ['1:/a', '2:/b'],
    ['1:', 'b'],
  ])
    expect((await cli.run(['cp', ...paths])).code).toBe(125);
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

const fileOf = (end: string): string => `
x-berth: {size: 3}
services:
  store:
    image: &image ${IMAGE}
    command: nc -ll -p 7000 -e echo "greetings to \${WHOM:?name somebody}"
    restart: always
    ports: ["7000"]
    healthcheck: {test: nc 127.0.0.1 7000 < /dev/null, interval: 5s}
  client:
    image: *image
    depends_on: {store: {condition: service_healthy}}
    deploy: {resources: {limits: {memory: 64m}}}
    environment: {STORE: "{dns_name#store0}", END: "${end}"}
    command:
      - sh
      - -c
      - nc "$$STORE" 7000; exit "$$END"
`;

test('L70, L76, L79, L139, L140: a Compose file runs to its end, which its job decides, once what it needs is healthy', async () => {
  const path = join(home, 'compose.yaml');
  for (const end of [0, 3]) {
    await writeFile(path, fileOf(String(end)));
    const { code, out } = await cli.run(['run', path, '--follow']);
    expect([code, out]).toEqual([end, 'greetings to you\n']);
  }
});
