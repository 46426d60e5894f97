/** Commands in services, and their ports, from the command line to a real engine. */
import { createHash, randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CommandLine } from '../../support/clients/command-line.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

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
