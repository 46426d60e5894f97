/** Commands in services, and their ports, from the command line to a real engine. */
import { createHash, randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
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

beforeAll(async () => {
  home = await scratchFolder('berth-home-');
  berth = await startBerth({ deployment: 'e2e-streams' });
  cli = new CommandLine(home);
  await cli.logIn(berth.url, PASSWORD);
  const execution = await berth.api.submit(application(script('nc -ll -p 7000 -e sed s/me/you/')));
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
