import { chmod, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { originOf } from '../../cli/contexts.ts';
import { CommandLine } from '../support/clients/command-line.ts';
import { ADMIN_PASSWORD, onEach, onHosts } from '../support/hosts/hosts.ts';

const LOGIN = ['--user', 'admin', '--password-stdin'];
/** Nothing listens there. */
const NOBODY = 'http://127.0.0.1:9';

onHosts(onEach('B', 'zoe-2018.12'), (host) => {
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
    const ended = `Your login at ${host().url()} has ended.\nLog in: berth login ${host().url()}\n`;
    expect(await berth.refusal(['ps'])).toBe(ended);
  });

  test('L10: logout removes the session from the file even if the control plane can not be reached', async () => {
    await logIn();
    const kept = await readFile(file(), 'utf8');
    await writeFile(file(), kept.replaceAll(host().url(), NOBODY));
    expect(await berth.refusal(['logout'])).toContain(`${NOBODY} can't be reached`);
    expect(await readFile(file(), 'utf8')).not.toContain('"session"');
  });

  test('L228: a loopback address without a scheme is one of http', async () => {
    const words = ['login', host().url().replace('http://', ''), ...LOGIN];
    const { code, err } = await berth.run(words, ADMIN_PASSWORD);
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

  test('L2, L4, L10: a wrong or missing password leaves the contexts as they are, without a question; a damaged file says what to do', async () => {
    expect(await berth.refusal(['login', host().url()])).toContain('--password-stdin');
    const wrong = await berth.refusal(['login', host().url(), ...LOGIN], 'wrong');
    expect(wrong).toBe('Wrong user name or password.\n');
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

  test('L11, L225: contexts are listed, chosen and forgotten, and the current one is used; without one, the error names those that there are', async () => {
    await logIn('--name', 'one');
    await logIn('--name', 'two');
    const names = async () => (await berth.run(['context', 'ls', '-q'])).out;
    expect(await names()).toBe('one\ntwo\n');
    const current = async () => {
      const all: { name: string; current: boolean }[] = await berth.json(['context', 'ls']);
      return all.filter((one) => one.current).map(({ name }) => name);
    };
    expect(await current()).toEqual(['two']);
    await berth.run(['context', 'use', 'one']);
    expect(await current()).toEqual(['one']);
    const none = 'There is no context three; there is one, two.\n';
    expect(await berth.refusal(['context', 'use', 'three'])).toBe(none);
    expect((await berth.run(['context', 'rm', 'one'])).err).toContain('one was the current context');
    expect([await names(), await current()]).toEqual(['two\n', []]);
    const unchosen = await berth.refusal(['ps']);
    expect(unchosen).toMatch(/^No context is chosen: berth context use CONTEXT \(there is .*\btwo\b/);
    expect(unchosen).toContain('berth login URL');
  });

  test('L11, L195, L196: BERTH_URL and BERTH_TOKEN win, and a session is sent only to the control plane that has given it', async () => {
    await logIn();
    const elsewhere = new CommandLine(berth.home, { BERTH_URL: NOBODY });
    expect((await elsewhere.run(['ps'])).err).toContain(`${NOBODY} can't be reached`);
    const here = new CommandLine(berth.home, { BERTH_URL: host().url() });
    expect(await here.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
    const token = new CommandLine(berth.home, { BERTH_TOKEN: 'not a token' });
    const refused = / refuses the token in BERTH_TOKEN: .*\nSet it to a token that is valid/;
    expect(await token.refusal(['ps'])).toMatch(refused);
    await writeFile(file(), (await readFile(file(), 'utf8')).replaceAll(host().url(), NOBODY));
    const stranger = /^You are not logged in at http.*\nLog in: berth login http/;
    expect(await here.refusal(['ps'])).toMatch(stranger);
    const missing = 'missing.json: there is no such file or folder.\n';
    expect(await here.refusal(['run', 'missing.json'])).toBe(missing);
  });
});
