import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { timeOf } from '../../cli/terminal/time.ts';
import type { Application } from '../../shared/application-schema.ts';
import type { Assignment } from '../../shared/protocol/assignment.ts';
import { ScriptedAgent, seen } from '../support/agents/scripted-agent.ts';
import { ApiClient } from '../support/clients/api-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { FrailLine } from '../support/clients/frail-line.ts';
import { application, service } from '../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD, onEach, onHosts } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';

const ONE = application(service());
const TWO = application(service(), service({ name: 'worker', monitor: false }));

onHosts(onEach('B', 'A'), (host) => {
  const api = new ApiClient(host);
  const berth = adminLine(host);
  let agent: ScriptedAgent;
  beforeEach(async () => {
    agent = await ScriptedAgent.join(host());
  });
  afterEach(async () => {
    if (agent.closeCode === undefined) await agent.close();
  });

  const running = async (id: number, count = 1): Promise<[Assignment, ...Assignment[]]> => {
    const assigned = await agent.assigned(id, count);
    await agent.report(...assigned.map(seen.running));
    return assigned as [Assignment, ...Assignment[]];
  };
  /** The container ends, and is removed. */
  const exit = async (one: Assignment, code: number) => {
    await agent.report(seen.exited(one, code));
    await agent.released(one.execution);
    await agent.report(seen.gone(one));
  };
  const throughLine = async () => {
    const line = await FrailLine.to(host().url());
    const far = new CommandLine(undefined, { BERTH_URL: line.url });
    await far.logIn(line.url, ADMIN_PASSWORD);
    return { line, far };
  };
  /** A command that submits, and the id of its execution. */
  const submitting = async (words: readonly string[], described: Application) => {
    const before = new Set(Object.keys(await api.executions()));
    const command = berth.start(words, JSON.stringify(described));
    const id = await eventually(async () =>
      Object.keys(await api.executions()).find((id) => !before.has(id)),
    );
    return { ...command, id: Number(id) };
  };

  test('L22: logs follows the output byte for byte to its end', async () => {
    const id = await api.submit();
    const [one] = await running(id);
    const read = berth.start(['logs', '-f', String(id)]).ended;
    const log = await agent.log(one.service);
    const bytes = Buffer.from([0, 0xff, 0xfe, ...Buffer.from('a\u001b[31mb\r\n'), 0x80]);
    await log.write(bytes);
    await exit(one, 0);
    log.end();
    expect(await read).toEqual({ code: 0, out: bytes, err: '' });
  });

  test('L22: lines of several services have the name of their service, and names choose among them', async () => {
    const id = await api.submit(TWO);
    const [main, worker] = await running(id, 2);
    if (worker?.instance !== 'worker0') throw new Error('unexpected order');
    const all = berth.run(['logs', '-f', String(id)]);
    const one = berth.run(['logs', '-f', '-s', 'worker0', String(id)]);
    const named = berth.run(['logs', '-f', `${id}/worker0`]);
    const ofMain = await agent.log(main.service);
    await ofMain.write('begun');
    for (const nth of [0, 1, 2]) await (await agent.log(worker.service, nth)).write('1\n2');
    await ofMain.write(' and done\n');
    await agent.report(seen.exited(main, 0), seen.exited(worker, 143));
    for (const log of agent.logs) log.end();
    const lines = (await all).out.split('\n').sort();
    expect(lines).toEqual(['main0   | begun and done', 'worker0 | 1', 'worker0 | 2']);
    expect(await one).toEqual({ code: 0, out: '1\n2', err: '' });
    expect(await named).toEqual(await one);
    const unknown = `Execution ${id} has no service x; it has main0, worker0.\n`;
    expect(await berth.refusal(['logs', String(id), '-s', 'x'])).toBe(unknown);
  });

  test('L22, L151, L221, L222: a long line is one line in every form, with times, without older lines or as an object, and a start begins with a new one', async () => {
    const id = await api.submit(TWO);
    const [main, one] = await running(id, 2);
    if (!one) throw new Error('nothing is assigned');
    const since = ['--since', '2026-01-01T12:00:00Z'];
    const forms = [[], ['-t'], since, [...since, '-t'], ['--json'], [...since, '-t', '--json']];
    const reads = forms.map((form) => berth.run(['logs', '-f', `${id}/worker0`, ...form]));
    const long = '€'.repeat(70_000);
    const opened = await Promise.all(forms.map((_, nth) => agent.log(one.service, nth)));
    for (const log of opened) {
      const stamp = log.opened.format === 'timestamps' ? '2026-01-01 11:59:59 ' : '';
      const later = log.opened.format === 'timestamps' ? '2026-01-01 12:00:00 ' : '';
      await log.write(`${stamp}old ${long}\n${later}new ${long}\n${later}cut`);
    }
    await agent.report(seen.exited(one, 1), seen.gone(one));
    const again = await eventually(() =>
      [...agent.assignments.values()].find((next) => next.service === one.service && next.generation === 2),
    );
    if (!again) throw new Error('nothing is assigned again');
    await agent.report(seen.running(again));
    for (const log of opened) log.end();
    for (const nth of forms.keys()) {
      const log = await agent.log(one.service, forms.length + nth);
      const later = log.opened.format === 'timestamps' ? '2026-01-01 12:00:00 ' : '';
      await log.write(`${later}again\n`);
    }
    await agent.report(seen.exited(main, 0), seen.exited(again, 143));
    for (const log of agent.logs) log.end();
    const outs = (await Promise.all(reads)).map(({ out }) => out);
    const [oldTime, newTime] = [timeOf(1_767_268_799), timeOf(1_767_268_800)];
    const object = (time: number, text: string) => `${JSON.stringify({ service: 'worker0', time, text })}\n`;
    const objects = [`new ${long}`, 'cut', 'again'].map((text) => object(1_767_268_800, text)).join('');
    expect(outs).toEqual([
      `old ${long}\nnew ${long}\ncutagain\n`,
      `${oldTime} old ${long}\n${newTime} new ${long}\n${newTime} cut\n${newTime} again\n`,
      `new ${long}\ncut\nagain\n`,
      `${newTime} new ${long}\n${newTime} cut\n${newTime} again\n`,
      `${object(1_767_268_799, `old ${long}`)}${objects}`,
      objects,
    ]);
    expect(await berth.refusal(['logs', String(id), '--since', 'soon'])).toContain('soon is not a time');
  });

  test('L221: only the output of another service divides a long line, and its name is before each part', async () => {
    const id = await api.submit(TWO);
    const [main, worker] = await running(id, 2);
    if (!worker) throw new Error('nothing is assigned');
    const read = berth.start(['logs', '-f', String(id)]);
    const long = 'x'.repeat(100_000);
    const [ofMain, ofWorker] = [await agent.log(main.service), await agent.log(worker.service)];
    await ofMain.write(`${long}\n${long}`);
    await eventually(() => read.out().length > 150_000);
    await ofWorker.write('short\n');
    await eventually(() => read.out().includes('short'));
    await ofMain.write('end');
    await ofWorker.write('last');
    await agent.report(seen.exited(main, 0), seen.exited(worker, 143));
    for (const log of agent.logs) log.end();
    const lines = (await read.ended).out.toString().split('\n');
    expect(lines[0]).toBe(`main0   | ${long}`);
    expect(lines[2]).toBe('worker0 | short');
    const rest = lines.filter((_, n) => n !== 0 && n !== 2);
    expect(rest.map((line) => line.replaceAll('x', '')).sort()).toEqual([
      'main0   | ',
      'main0   | end',
      'worker0 | last',
    ]);
    expect(rest.join('').replaceAll(/[^x]/g, '')).toBe(long);
  });

  test('L223: on a terminal, text and colours of services pass, and everything with --raw', async () => {
    const id = await api.submit();
    const [one] = await running(id);
    const reads = [[], ['--raw'], ['-t']].map((form) =>
      berth.startOnTerminal(['logs', '-f', String(id), ...form]),
    );
    for (const nth of reads.keys()) {
      const log = await agent.log(one.service, nth);
      const stamp = log.opened.format === 'timestamps' ? '2026-01-01 12:00:00 ' : '';
      await log.write(`${stamp}a\u001b]52;c;`);
      await log.write('aGk=\u0007\u001b[31mred\u001b[0m\u001b[?1h\n');
    }
    await exit(one, 0);
    for (const log of agent.logs) log.end();
    const outs = (await Promise.all(reads.map((read) => read.ended))).map(({ out }) => out.toString());
    expect(outs).toEqual([
      'a\u001b[31mred\u001b[0m\r\n',
      'a\u001b]52;c;aGk=\u0007\u001b[31mred\u001b[0m\u001b[?1h\r\n',
      `${timeOf(1_767_268_800)} a\u001b[31mred\u001b[0m\r\n`,
    ]);
  });

  test('L101, L102: logs prints what there is, or the last lines, and ends although the service runs', async () => {
    const id = await api.submit();
    const [one] = await running(id);
    for (const [nth, [options, opened]] of [
      [[], { follow: false }] as const,
      [['--tail', '2'], { follow: false, tail: 2 }] as const,
    ].entries()) {
      const read = berth.run(['logs', ...options, String(id)]);
      const log = await agent.log(one.service, nth);
      expect(log.opened).toMatchObject(opened);
      await log.write('a\nb\n');
      log.end();
      expect(await read).toEqual({ code: 0, out: 'a\nb\n', err: '' });
    }
    const wrong = { none: 'none is not a number of lines', 10001: 'from 1 to 10000' };
    for (const [tail, words] of Object.entries(wrong))
      expect(await berth.refusal(['logs', '--tail', tail, String(id)])).toContain(words);
    await agent.close();
    expect(await berth.refusal(['logs', String(id)])).toContain('not connected');
  });

  test('L23: logs goes on after broken connections, without a gap or a repetition', async () => {
    const { line, far } = await throughLine();
    const id = await api.submit();
    const [one] = await running(id);
    const read = far.start(['logs', '-f', String(id)]);
    const parts = ['first\n', 'sec', 'ond\n'];
    for (const [nth, part] of parts.entries()) {
      const log = await agent.log(one.service, nth);
      expect(log.opened.offset).toBe(parts.slice(0, nth).join('').length);
      await log.write(part);
      await eventually(() => read.out() === parts.slice(0, nth + 1).join(''));
      if (nth < 2) line.break();
      else log.end();
      if (nth === 2) await exit(one, 0);
    }
    const { code, out, err } = await read.ended;
    expect([code, out.toString()]).toEqual([0, parts.join('')]);
    expect(err).toContain('Berth tries again.');
    line.close();
  });

  test('L27: run submits one execution although the answers to its request get lost', async () => {
    const { line, far } = await throughLine();
    const before = Object.keys(await api.executions());
    line.answersToLose = 2;
    const { code, out } = await far.run(['run', '-'], JSON.stringify(ONE));
    expect([code, line.answersToLose]).toEqual([0, 0]);
    const added = Object.keys(await api.executions()).filter((id) => !before.includes(id));
    expect(added).toEqual([out.trim()]);
    await api.terminate(Number(out));
    line.close();
  });

  test('L24: run --wait and wait exit with the exit code of the monitor service that ended the execution', async () => {
    for (const code of [0, 3]) {
      const { id, ended: run } = await submitting(['run', '-', '--wait'], ONE);
      const wait = berth.run(['wait', String(id)]);
      const [one] = await running(id);
      await exit(one, code);
      expect((await run).code).toBe(code);
      expect((await run).out.toString()).toBe(`${id}\n`);
      expect((await wait).code).toBe(code);
    }
  });

  test('L24, L197: an execution that ended in another way is 125, and has no ports to forward', async () => {
    const stopped = await api.submit(application(service({ labels: ['nowhere'] })));
    const failed = await api.submit();
    const waits = [stopped, failed].map((id) => berth.run(['wait', String(id)]));
    await api.terminate(stopped);
    const [one] = await agent.assigned(failed);
    if (!one) throw new Error('no assignment');
    await agent.report(seen.failed(one, 'no such image'));
    await agent.released(failed);
    await agent.report(seen.gone(one));
    const ended = await Promise.all(waits);
    expect(ended.map(({ code }) => code)).toEqual([125, 125]);
    expect(ended[0]?.err).toContain('was terminated before a monitor service ended');
    expect(ended[1]?.err.match(/ended with an error: .*no such image/g)).toHaveLength(1);
    expect((await berth.run(['wait', '999999'])).code).toBe(125);
    expect(await berth.refusal(['forward', String(stopped), '0:8080'])).toContain('has ended (terminated)');
  });

  test('L24: after the timeout or Ctrl-C the execution goes on, and it is said how to wait again', async () => {
    const id = await api.submit();
    await running(id);
    const goesOn = expect.stringContaining(`goes on; berth wait ${id} waits`);
    const late = await berth.run(['wait', String(id), '--timeout', '0.01']);
    expect([late.code, late.err]).toEqual([124, goesOn]);
    expect(late.err).toContain('It has not ended within 0.01 s.');
    const interrupted = berth.start(['wait', String(id)]);
    await eventually(() => interrupted.err().includes(`Execution ${id}: `));
    interrupted.interrupt();
    const { code, err } = await interrupted.ended;
    expect([code, err]).toEqual([130, goesOn]);
    expect((await api.execution(id)).status).toBe('running');
    await api.terminate(id);
  });

  test('L25: what an execution waits for is said once for each change, and on a terminal in a line that changes', async () => {
    const id = await api.submit(application(service({ labels: ['nowhere'] })));
    const { summary, waiting_for } = await api.explain(id);
    const first = `Execution ${id}: ${[summary, ...waiting_for].join(' ')}`;
    const narrow = berth.startOnTerminal(['wait', String(id)], { columns: 40 });
    await eventually(() => narrow.out().includes('…'));
    narrow.type('\u0003');
    const { code, out } = await narrow.ended;
    const [, shown] = out.toString().split('\r\u001b[K');
    expect([code, shown]).toEqual([130, expect.stringMatching(/^.{38}…(\^C)?$/)]);
    expect(out.toString()).toContain(`\r\u001b[KExecution ${id} goes on`);
    const wait = berth.start(['wait', String(id)]);
    await eventually(() => wait.err() === `${first}\n`);
    await api.terminate(id);
    expect((await wait.ended).err.split('\n')).toEqual([
      ...[first, expect.stringContaining('terminated'), expect.stringContaining('was terminated'), ''],
    ]);
  });

  test('L25: run --follow prints the output of the monitor service, and exits with its exit code', async () => {
    const { id, ended } = await submitting(['run', '-', '--follow'], TWO);
    const [main, side] = await running(id, 2);
    const log = await agent.log(main.service);
    await log.write('hello\n');
    await agent.report(seen.exited(main, 4));
    log.end();
    await agent.released(id);
    await agent.report(seen.gone(main), ...(side ? [seen.gone(side)] : []));
    const { code, out, err } = await ended;
    expect([code, out.toString()]).toEqual([4, 'hello\n']);
    expect(err).toContain(`Execution ${id}`);
  });

  test('L26: run --image runs one container, and the words reach it as they are', async () => {
    const words = ['sh', '-c', `echo "it's" $HOME \\ *`, '', '{print} {{x}} {user_name}'];
    const { out } = await berth.run(['run', '--image', 'registry.example/some/tool:1', '--', ...words]);
    const [one] = await agent.assigned(Number(out));
    expect(one).toMatchObject({ image: 'registry.example/some/tool:1', command: words });
    expect((await api.execution(Number(out))).name).toBe('tool');
    expect((await berth.run(['run'])).err).toContain('either a file with a description, or --image');
    await api.terminate(Number(out));
  });

  test('L26: --set and --env-file change the description before it is submitted', async () => {
    const file = join(berth.home, 'variables');
    const braces = 'BRACES={x} {{y}} {dns_name#self} {user_name}';
    await writeFile(file, `# for all\nexport MODE="fast = yes" # quick\n\nEMPTY=\n${braces}\n`);
    const changes = ['services.main.labels=["nowhere"]', 'services.0.total_count=2', 'name=other'];
    const set = changes.flatMap((change) => ['--set', change]);
    const { out, err } = await berth.run(['run', '-', ...set, '--env-file', file], JSON.stringify(ONE));
    expect(err).toContain(`${file}: BRACES has {user_name}, which Berth fills in.`);
    const execution = await api.execution(Number(out));
    const read = { MODE: 'fast = yes', EMPTY: '', BRACES: '{{x}} {{{y}}} {dns_name#self} {user_name}' };
    const changed = { labels: ['nowhere'], total_count: 2, environment: Object.entries(read) };
    expect(execution).toMatchObject({ name: 'other', description: { services: [changed] } });
    for (const wrong of ['services.none.image=x', 'name', 'services.7.image=x'])
      expect((await berth.run(['run', '-', '--set', wrong], JSON.stringify(ONE))).code).toBe(125);
    await api.remove(Number(out));
  });

  test('L26: rerun submits the description of an execution again, with changes', async () => {
    const id = await api.submit(ONE, 'first');
    const words = ['rerun', String(id), '--set', 'services.main.labels=["nowhere"]'];
    const { execution_id: second } = await berth.json(words);
    const description = { services: [{ labels: ['nowhere'] }] };
    expect(await api.execution(second)).toMatchObject({ name: 'first', description });
    await berth.refusal(['rerun', '999999']);
    await Promise.all([id, second].map((one) => api.remove(one)));
  });
});
