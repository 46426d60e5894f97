/** `berth token`, `berth login --token`, `berth secret` and `berth file`: one control plane for all tests. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { ADMIN_PASSWORD, onHostsWith } from '../support/hosts/hosts.ts';

const FORM = /^berth_pat_[\w-]{64}\n$/;

onHostsWith(
  { BERTH_SECRET_KEYS: Buffer.alloc(32, 7).toString('base64') },
  [{ kind: 'node', variant: 'zoe-2018.12' }],
  (host) => {
    const berth = adminLine(host);
    const create = (...words: string[]) =>
      berth.run(['token', 'create', ...words, '--password-stdin'], `${ADMIN_PASSWORD}\n`);

    test('L67: token create prints the token, and ls and rm name it by id or name', async () => {
      const scopes = ['read', 'submit'].flatMap((scope) => ['--scope', scope]);
      const { code, out, err } = await create('ci', ...scopes, '--expires', '30d');
      expect([code, out]).toEqual([0, expect.stringMatching(FORM)]);
      expect(err).toContain('This is shown only once. It is valid until 20');
      expect(err).not.toContain(out.trim());
      expect(await berth.json(['token', 'ls', '--user', 'admin'])).toMatchObject([
        { name: 'ci', scopes: ['read', 'submit'], last_used_at: null },
      ]);
      const { out: shown } = await berth.run(['token', 'ls']);
      expect(shown.split('\n')[0]).toMatch(/^ID +NAME +SCOPES +CREATED +EXPIRES +LAST USED/);
      expect(shown).toContain('read,submit');
      expect(await berth.run(['token', 'rm', 'ci'])).toEqual({ code: 0, out: 'ci\n', err: '' });
      expect((await berth.run(['token', 'rm', 'ci'])).err).toContain('There is no token ci; berth token ls');
      expect((await berth.run(['token', 'ls', '-q'])).out).toBe('');
    });

    test('L126, L127: secret and file read values from standard input, list them without, and remove them', async () => {
      const value = 'not for arguments';
      const set = await berth.run(['secret', 'set', 'DB_PASSWORD'], `${value}\n`);
      expect(set).toEqual({ code: 0, out: expect.stringMatching(/^\d+\n$/), err: '' });
      expect((await berth.run(['file', 'set', 'server.pem', '--all'], `${value}\n`)).code).toBe(0);
      const secrets = await berth.json(['secret', 'ls']);
      expect(secrets).toMatchObject([{ name: 'DB_PASSWORD', for_all: false, size: value.length }]);
      const { out: files } = await berth.run(['file', 'ls']);
      expect(files).toMatch(/^ID +NAME +FOR +BYTES +SET\n\d+ +server\.pem +all +18 /);
      expect(JSON.stringify(secrets) + files).not.toContain(value);
      const encrypted = await berth.run(['secret', 'encrypt']);
      expect(encrypted).toEqual({ code: 0, out: '0\n', err: expect.stringContaining('can be removed') });
      expect((await berth.run(['secret', 'rm', 'DB_PASSWORD'])).out).toBe('DB_PASSWORD\n');
      expect((await berth.run(['file', 'rm', 'server.pem'])).code).toBe(0);
      expect((await berth.run(['secret', 'ls', '-q'])).out).toBe('');
      expect((await berth.run(['secret', 'set', 'no name'], 'x')).err).toContain('must be letters');
    });

    test('L132: registry reads a password from standard input, lists registries only, and removes by their name', async () => {
      const word = 'not for arguments';
      const host = 'Registry.example.org:5000';
      const set = await berth.run(['registry', 'set', host, '--username', 'ci'], `${word}\n`);
      expect(set).toEqual({ code: 0, out: expect.stringMatching(/^\d+\n$/), err: '' });
      expect((await berth.run(['registry', 'set', 'docker.io', '-u', 'ci', '--all'], word)).code).toBe(0);
      const { out } = await berth.run(['registry', 'ls']);
      expect(out).toMatch(
        /^ID +REGISTRY +FOR +SET\n\d+ +registry\.example\.org:5000 +you .*\n\d+ +docker\.io +all /,
      );
      expect(out).not.toContain(word);
      expect((await berth.run(['registry', 'rm', host])).out).toBe(`${host}\n`);
      expect((await berth.run(['registry', 'rm', 'docker.io'])).code).toBe(0);
      expect((await berth.run(['registry', 'ls', '-q'])).out).toBe('');
      expect((await berth.run(['registry', 'set', host], word)).err).toContain('--username');
      expect((await berth.run(['registry', 'set', 'a/b', '-u', 'ci'], word)).err).toContain('must be a host');
    });

    test('L67: with --json and -q, create prints data only, and what is not valid makes no token', async () => {
      const json = await create('for ever', '--scope', 'read', '--expires', 'never', '--json');
      expect([json.err, JSON.parse(json.out)]).toEqual([
        '',
        { token_id: expect.any(Number), token: expect.any(String), expires_at: null },
      ]);
      const quiet = await create('quiet', '--scope', 'read', '-q');
      expect([quiet.err, quiet.out]).toEqual(['', expect.stringMatching(FORM)]);
      for (const [words, problem] of [
        [['soon', '--scope', 'read', '--expires', '2h'], '2h is not a number of days'],
        [['all', '--scope', 'all'], 'scopes/0'],
        [['none'], '--scope'],
      ] as const)
        expect(await create(...words)).toMatchObject({ code: 125, err: expect.stringContaining(problem) });
      const wrong = await berth.run(['token', 'create', 'x', '--scope', 'read', '--password-stdin'], 'wrong');
      expect(wrong.err).toContain('not your current password');
      const silent = ['token', 'create', 'x', '--scope', 'read'];
      expect(await berth.refusal(silent)).toContain('--password-stdin');
      expect((await berth.run(['token', 'ls', '-q'])).out.split('\n')).toHaveLength(3);
    });

    test('L4, L67: on a terminal, token create asks for the password, which is not shown', async () => {
      const answers = [['Your password: ', ADMIN_PASSWORD]] as const;
      const words = ['token', 'create', 'typed', '--scope', 'read'];
      const { code, out } = await berth.onTerminal(words, { answers });
      expect([code, out]).toEqual([0, expect.stringContaining('berth_pat_')]);
      expect(out).not.toContain(ADMIN_PASSWORD);
    });

    test('L12, L68: login --token keeps a token from standard input for later commands, and logout forgets it', async () => {
      const token = (await create('program', '--scope', 'read', '-q')).out.trim();
      const program = new CommandLine();
      await program.refusal(['login', host().url(), '--token'], `${token}x\n`);
      const login = await program.run(['login', host().url(), '--token'], `${token}\n`);
      expect([login.code, login.out, login.err]).toEqual([0, '', expect.stringContaining('as admin.')]);
      const file = join(program.home, '.config/berth/contexts.json');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(await program.run(['ps', '-q'])).toEqual({ code: 0, out: '', err: '' });
      expect(await program.refusal(['host', 'token', '-q'])).toContain('with the scope operate');
      expect((await program.run(['logout'])).err).toContain('still valid');
      expect(await readFile(file, 'utf8')).not.toContain(token);
      expect((await program.run(['ps'])).code).toBe(125);
      const byVariable = new CommandLine(program.home, { BERTH_TOKEN: token, BERTH_URL: host().url() });
      expect((await byVariable.run(['ps', '-q'])).code).toBe(0);
    });

    test('L11: of several contexts of one control plane, the current one is used', async () => {
      const token = (await create('second', '--scope', 'read', '-q')).out.trim();
      await berth.run(['login', host().url(), '--token', '--name', 'second'], token);
      const words = ['host', 'resume', '999999'];
      expect((await berth.run(words)).err).toContain('with the scope operate');
      await berth.run(['context', 'use', new URL(host().url()).host]);
      expect((await berth.run(words)).err).toContain('There is no such host: 999999.');
    });
  },
);
