/** `berth` as a real process, also on a real terminal. All else of the command line runs in this process. */
import { expect, test } from 'vitest';
import { CommandLine, newHome } from '../support/clients/command-line.ts';
import { ADMIN_PASSWORD, onHosts } from '../support/hosts/hosts.ts';
import { eventually } from '../support/tools/eventually.ts';

onHosts([{ kind: 'node', variant: 'B' }], (host) => {
  const berth = new CommandLine(newHome(), {}, true);

  test('L4: a password that is typed on a real terminal is not shown, and a process uses its session', async () => {
    const answers = [
      ['User name', 'admin'],
      ['Password: ', ADMIN_PASSWORD],
    ] as const;
    const { code, out } = await berth.onTerminal(['login', host().url()], { answers });
    expect([code, out]).toEqual([0, expect.stringContaining('Logged in')]);
    expect(out).toContain(': admin');
    expect(out).not.toContain(ADMIN_PASSWORD);
    expect(await berth.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
  });

  test('L2, L52: Ctrl-C and errors are the exit code of the process', async () => {
    const line = new CommandLine(newHome(), {}, true);
    await line.logIn(host().url(), ADMIN_PASSWORD);
    const events = line.start(['events', '--json']);
    await eventually(() => events.out() !== '');
    events.interrupt();
    expect(await events.ended).toMatchObject({ code: 130, err: '' });
    expect((await line.run(['get', '999999'])).code).toBe(125);
  });

  test('L153: output that can not be written is an error, and the exit code counts although nobody reads the words', async () => {
    const full = await berth.piped(['--help'], '> /dev/full');
    expect(full.code).toBe(125);
    expect(full.err).toMatch(/^The output can't be written: .*ENOSPC/);
    expect((await berth.piped(['nonsense'], '2> >(true)')).code).toBe(125);
  });

  test('L153: a reader that closes the pipe early ends berth with 0', async () => {
    expect(await berth.piped(['--help'], '| true')).toEqual({ code: 0, out: '', err: '' });
  });
});
