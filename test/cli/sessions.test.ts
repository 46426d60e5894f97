import { chmod, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { originOf } from '../../cli/contexts.ts';
import { CommandLine } from '../support/clients/command-line.ts';
import { ADMIN_PASSWORD, onHosts, type Setup } from '../support/hosts/hosts.ts';

const setups: readonly Setup[] = [
  { kind: 'node', variant: 'B' },
  { kind: 'workerd', variant: 'zoe-2018.12' },
];
const LOGIN = ['--user', 'admin', '--password-stdin'];
/** Nothing listens there. */
const NOBODY = 'http://127.0.0.1:9';

onHosts(setups, (host) => {
  let berth: CommandLine;
  beforeEach(() => {
    berth = new CommandLine();
  });
  const file = () => join(berth.home, '.config/berth/contexts.json');
  const logIn = (...options: string[]) =>
    berth.run(['login', host().url(), ...LOGIN, ...options], `${ADMIN_PASSWORD}\n`);

  test('L10, L12: login keeps a session that later commands use, in a file that nobody else reads', async () => {
    const { code, out, err } = await logIn();
    expect([code, out]).toEqual([0, '']);
    expect(err).toContain(`Logged in to ${host().url()} as admin.`);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
    expect(await readFile(file(), 'utf8')).not.toContain(ADMIN_PASSWORD);
    expect(await berth.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
  });

  test('L10, L195: logout ends the session at the server and removes it from the file', async () => {
    await logIn();
    const kept = await readFile(file(), 'utf8');
    expect((await berth.run(['logout'])).code).toBe(0);
    expect(await readFile(file(), 'utf8')).not.toContain('"session"');
    await writeFile(file(), kept);
    const { code, err } = await berth.run(['ps']);
    const ended = `Your login at ${host().url()} has ended.\nLog in: berth login ${host().url()}\n`;
    expect([code, err]).toEqual([125, ended]);
  });

  test('L10: logout removes the session from the file even if the control plane can not be reached', async () => {
    await logIn();
    const kept = await readFile(file(), 'utf8');
    await writeFile(file(), kept.replaceAll(host().url(), NOBODY));
    const { code, err } = await berth.run(['logout']);
    expect([code, err]).toEqual([125, expect.stringContaining(`${NOBODY} can't be reached`)]);
    expect(await readFile(file(), 'utf8')).not.toContain('"session"');
  });

  test('L228: a loopback address without a scheme is one of http', async () => {
    const { code, err } = await berth.run(
      ['login', host().url().replace('http://', ''), ...LOGIN],
      ADMIN_PASSWORD,
    );
    expect([code, err]).toEqual([0, expect.stringContaining(`Logged in to ${host().url()}`)]);
    for (const [given, url] of [
      ['localhost', 'http://localhost'],
      ['[::1]:5001', 'http://[::1]:5001'],
      ['berth.localhost:80', 'http://berth.localhost'],
      ['127.example.org', 'https://127.example.org'],
      ['berth.example.org:5001', 'https://berth.example.org:5001'],
    ] as const)
      expect(originOf(given)).toBe(url);
  });

  test('L4: a password that is typed on a terminal is not shown', async () => {
    const answers = [
      ['User name', 'admin'],
      ['Password: ', ADMIN_PASSWORD],
    ] as const;
    const { code, out } = await berth.onTerminal(['login', host().url()], { answers });
    expect([code, out]).toEqual([0, expect.stringContaining('Logged in')]);
    expect(out).toContain(': admin');
    expect(out).not.toContain(ADMIN_PASSWORD);
  });

  test('L4: without a terminal nothing asks', async () => {
    const { code, err } = await berth.run(['login', host().url()]);
    expect([code, err]).toEqual([125, expect.stringContaining('--password-stdin')]);
  });

  test('L2, L10: a wrong password leaves the contexts as they are, and a damaged file says what to do', async () => {
    const wrong = await berth.run(['login', host().url(), ...LOGIN], 'wrong');
    expect([wrong.code, wrong.err]).toEqual([125, 'Wrong user name or password.\n']);
    await expect(readFile(file())).rejects.toThrow('ENOENT');
    await logIn();
    await writeFile(file(), '{"current":"gone","contexts":{}}');
    await chmod(file(), 0o600);
    expect((await berth.run(['ps'])).err).toBe(`${file()} is damaged; remove it and log in again.\n`);
  });

  test('L225: commands at the same time lose none of their changes, also after one that was killed', async () => {
    await logIn('--name', 'first');
    const old = new Date(Date.now() - 60_000);
    await writeFile(`${file()}.lock`, 'killed');
    await utimes(`${file()}.lock`, old, old);
    const names = Array.from({ length: 12 }, (_, n) => `c${n}`);
    await Promise.all(names.map((name) => logIn('--name', name)));
    await Promise.all(names.slice(0, 6).map((name) => berth.run(['context', 'rm', name])));
    const left = JSON.parse(await readFile(file(), 'utf8')) as { contexts: object };
    expect(Object.keys(left.contexts)).toEqual(expect.arrayContaining(['first', ...names.slice(6)]));
    for (const name of names.slice(0, 6)) expect(left.contexts).not.toHaveProperty(name);
    expect((await readdir(dirname(file()))).filter((name) => name !== 'contexts.json')).toEqual([]);
    for (const name of names.slice(6)) await berth.run(['context', 'rm', name]);
  });

  test('L225: without a current context, the error names those that there are', async () => {
    await logIn('--name', 'one');
    await logIn('--name', 'two');
    expect((await berth.run(['context', 'rm', 'two'])).err).toContain('two was the current context');
    const { code, err } = await berth.run(['ps']);
    expect([code, err]).toEqual([
      125,
      expect.stringMatching(/^No context is chosen: berth context use CONTEXT \(there is .*\bone\b/),
    ]);
    await berth.run(['context', 'rm', 'one']);
  });

  test('L11: contexts are listed, chosen and forgotten, and the current one is used', async () => {
    await logIn('--name', 'one');
    await logIn('--name', 'two');
    const names = async () => (await berth.run(['context', 'ls', '-q'])).out;
    expect(await names()).toBe('one\ntwo\n');
    const current = async () =>
      (JSON.parse((await berth.run(['context', 'ls', '--json'])).out) as { name: string; current: boolean }[])
        .filter((one) => one.current)
        .map(({ name }) => name);
    expect(await current()).toEqual(['two']);
    await berth.run(['context', 'use', 'one']);
    expect(await current()).toEqual(['one']);
    const { code, err } = await berth.run(['context', 'use', 'three']);
    expect([code, err]).toEqual([125, 'There is no context three; there is one, two.\n']);
    await berth.run(['context', 'rm', 'one']);
    expect([await names(), await current()]).toEqual(['two\n', []]);
    expect((await berth.run(['ps'])).err).toContain('berth login URL');
  });

  test('L11, L195, L196: BERTH_URL and BERTH_TOKEN win, and a session is sent only to the control plane that has given it', async () => {
    await logIn();
    const elsewhere = new CommandLine(berth.home, { BERTH_URL: NOBODY });
    expect((await elsewhere.run(['ps'])).err).toContain(`${NOBODY} can't be reached`);
    const here = new CommandLine(berth.home, { BERTH_URL: host().url() });
    expect(await here.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
    const token = new CommandLine(berth.home, { BERTH_TOKEN: 'not a token' });
    const refused = await token.run(['ps']);
    expect([refused.code, refused.err]).toEqual([
      125,
      expect.stringMatching(/ refuses the token in BERTH_TOKEN: .*\nSet it to a token that is valid/),
    ]);
    await writeFile(file(), (await readFile(file(), 'utf8')).replaceAll(host().url(), NOBODY));
    expect((await here.run(['ps'])).err).toMatch(
      /^You are not logged in at http.*\nLog in: berth login http/,
    );
    expect((await here.run(['run', 'missing.json'])).err).toBe(
      'missing.json: there is no such file or folder.\n',
    );
  });
});
