/** Targets of streams on a real Docker engine: commands in containers, and their ports. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Container } from '../../../agent/engine/engine.ts';
import { processesOf } from '../../../agent/engine/processes/container-processes.ts';
import { BegunCommands } from '../../../agent/engine/streams/begun-commands.ts';
import { containerTargets, endLeftCommands } from '../../../agent/engine/streams/container-targets.ts';
import type { Target } from '../../../agent/engine/streams/target.ts';
import type { Exec } from '../../../shared/streams/targets.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, deployment, assignment, run, engine } = dockerRig('streams');

const connect = containerTargets(docker, { deployment, host: 'node1', local: true, secretsDir: null });
const asRunning = (container: Container) => {
  if (container.state !== 'running') throw new Error(container.state);
  return container;
};
const service = async () => asRunning(await run({ command: ['sleep', '600'] }));
const exec = (words: string[], rest: Partial<Exec> = {}): Exec => ({ kind: 'exec', words, ...rest });

/** The output by source; 0 is that of a terminal or of a port. */
async function outputOf({ output }: Target): Promise<Record<number, string>> {
  const texts: Record<number, string> = {};
  for await (const { bytes, source = 0 } of output)
    texts[source] = (texts[source] ?? '') + Buffer.from(bytes).toString();
  return texts;
}

async function copyOf(folder: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'berth-commands-'));
  onTestFinished(() => rm(copy, { recursive: true }));
  await cp(folder, copy, { recursive: true });
  return copy;
}

/** Command lines of the processes in a container. */
async function commandsIn({ id }: Container): Promise<string[]> {
  const { State } = await docker.getContainer(id).inspect();
  const pids = await processesOf({ id, pid: State.Pid });
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return lines.map((line) => line.split('\0').join(' ').trim());
}

describe('a command', () => {
  test('P260: a restarted agent ends the commands that a killed one has left, and no others', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-commands-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const options = { deployment, host: 'node1', local: true, secretsDir: null };
    const killed = containerTargets(docker, { ...options, begun: new BegunCommands(folder) });
    const container = await service();
    await killed(container, exec(['sh', '-c', 'trap "" HUP; sleep 511 & exec sleep 512']));
    await connect(container, exec(['sleep', '513']));
    const over = await killed(container, exec(['true']));
    await outputOf(over);
    await over.exitCode();
    const sleeps = async () =>
      (await commandsIn(container)).filter((line) => line.startsWith('sleep')).sort();
    const all = ['sleep 511', 'sleep 512', 'sleep 513', 'sleep 600'];
    await eventually(async () => expect(await sleeps()).toEqual(all));
    expect(await readdir(folder)).toHaveLength(1);
    await writeFile(join(folder, '0'.repeat(64)), '');
    const foreign = { ...options, host: 'node2', begun: new BegunCommands(await copyOf(folder)) };
    await endLeftCommands(docker, foreign, () => {});
    expect(await sleeps()).toEqual(all);
    const lines: string[] = [];
    await endLeftCommands(docker, { ...options, begun: new BegunCommands(folder) }, (event) =>
      lines.push(event),
    );
    expect(lines).toEqual(['command.left']);
    // A process that was killed may take a moment to go.
    await eventually(async () => expect(await sleeps()).toEqual(['sleep 513', 'sleep 600']));
    expect(await readdir(folder)).toEqual([]);
  });
  test('P254: a command gets its input, gives both of its outputs apart, and ends with its exit code', async () => {
    const target = await connect(await service(), exec(['sh', '-c', 'cat; echo problem >&2; exit 7']));
    await target.write(Buffer.from('hello'));
    target.end();
    expect(await outputOf(target)).toEqual({ 1: 'hello', 2: 'problem\n' });
    expect(await target.exitCode()).toBe(7);
  });
  test('P255: a command with a terminal has one output, the size of the terminal, and its keys', async () => {
    const terminal = { columns: 93, rows: 31 };
    const wait = (size: string) => `until stty size | grep -q "${size}"; do sleep 0.05; done; echo ${size}`;
    const command = exec(['sh', '-c', `${wait('31 93')}; read x; ${wait('20 70')}; cat`], { terminal });
    const target = await connect(await service(), command);
    let text = '';
    const keys: [RegExp, string][] = [
      [/31 93/, '\n'],
      [/20 70/, '\x03'],
    ];
    for await (const { bytes } of target.output) {
      text += Buffer.from(bytes).toString();
      if (!keys[0]?.[0].test(text)) continue;
      target.resize({ columns: 70, rows: 20 });
      await target.write(Buffer.from(keys.shift()?.[1] ?? ''));
    }
    expect(await target.exitCode()).toBe(130);
  });
  test('P256: a command whose client goes is ended with all that it has started, and the container runs on', async () => {
    const container = await service();
    const words = ['sh', '-c', '(trap "" HUP; setsid sleep 501) & (sleep 502; true) & echo up; wait'];
    const target = await connect(container, exec(words));
    for await (const _ of target.output) break;
    await eventually(async () =>
      expect((await commandsIn(container)).join()).toMatch(/sleep 501.*sleep 502|sleep 502.*sleep 501/),
    );
    target.destroy();
    await eventually(async () => expect((await commandsIn(container)).join()).not.toMatch(/sleep 50/));
    expect(await engine().inspect(container.id)).toMatchObject({ state: 'running' });
  });
  test('P256: a signal reaches a command and what it has started', async () => {
    const target = await connect(await service(), exec(['sh', '-c', 'echo up; sleep 503']));
    const iterator = target.output[Symbol.asyncIterator]();
    await iterator.next();
    target.signal('TERM');
    expect(await iterator.next()).toMatchObject({ done: true });
    expect(await target.exitCode()).toBe(143);
  });
  test('P257: a command ends with its container, and says so', async () => {
    const container = await service();
    const target = await connect(container, exec(['sleep', '504']));
    const ended = outputOf(target).then(() => target.exitCode());
    const refused = expect(ended).rejects.toThrow('the service has ended');
    await docker.getContainer(container.id).kill();
    await refused;
  });
  test.each([
    ['no-such-program', 127, 'no-such-program: there is no such program in the container'],
    ['/no/such/program', 127, '/no/such/program: there is no such program in the container'],
    ['/etc/passwd', 126, '/etc/passwd: this may not be run as a program'],
  ])('P254, L232: %s ends with %i, and the reason in plain words', async (program, code, text) => {
    const container = await service();
    const target = await connect(container, exec([program]));
    expect(await outputOf(target)).toEqual({ 2: `${text}\n` });
    expect(await target.exitCode()).toBe(code);
    const onTerminal = await connect(container, exec([program], { terminal: { columns: 80, rows: 24 } }));
    expect(await outputOf(onTerminal)).toEqual({ 0: `${text}\r\n` });
    expect(await onTerminal.exitCode()).toBe(code);
  });
  test('L232: a command that writes the words of the runtime is not taken for a missing program', async () => {
    const words = 'OCI runtime exec failed: exec: "x": executable file not found in $PATH: unknown';
    const target = await connect(await service(), exec(['sh', '-c', `echo '${words}'; exit 126`]));
    expect(await outputOf(target)).toEqual({ 1: `${words}\n` });
    expect(await target.exitCode()).toBe(126);
  });
  test('P258: with folders of the host mounted, a command runs as no other user than the service', async () => {
    const plain = await connect(await service(), exec(['id', '-u'], { user: '1234' }));
    expect(await outputOf(plain)).toEqual({ 1: '1234\n' });
    const { id } = await docker.createContainer({
      Image: assignment().image,
      Cmd: ['sleep', '600'],
      Labels: { 'berth.deployment': deployment, 'berth.host': 'node1', 'berth.service': '9' },
      HostConfig: { Mounts: [{ Type: 'bind', Source: '/tmp', Target: '/data', ReadOnly: true }] },
    });
    await docker.getContainer(id).start();
    try {
      const request = connect({ id, ipAddress: '' }, exec(['id'], { user: '0' }));
      await expect(request).rejects.toThrow('leave the user out');
    } finally {
      await docker.getContainer(id).remove({ force: true, v: true });
    }
  });
});

describe('a port', () => {
  test('P253: a connection carries bytes both ways, and each direction ends by itself', async () => {
    const command = ['sh', '-c', 'nc -l -p 7000 -e sh -c "cat; echo end"; sleep 600'];
    const container = asRunning(await run({ command }));
    const target = await eventually(() => connect(container, { kind: 'tcp', port: 7000 }));
    await target.write(Buffer.from('hello '));
    target.end();
    expect(await outputOf(target)).toEqual({ 0: 'hello end\n' });
    expect(await target.exitCode()).toBeUndefined();
    target.destroy();
  });
  test('P253: a port where nothing listens is refused, with the reason', async () => {
    const request = connect(await service(), { kind: 'tcp', port: 7001 });
    await expect(request).rejects.toThrow('port 7001: nothing listens there');
  });
});
