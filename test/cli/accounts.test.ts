import { expect, test } from 'vitest';
import { AccountClient, plain, ROLE } from '../support/clients/account-client.ts';
import { adminLine, CommandLine } from '../support/clients/command-line.ts';
import { FrailLine } from '../support/clients/frail-line.ts';
import { ADMIN_PASSWORD, hosts, onHosts } from '../support/hosts/hosts.ts';

const GIB = 1024 ** 3;
const PASSWORD = 'a long: new one';
let names = 0;

// Roles and quotas are fields of the API in group B, which is what the tests themselves use.
onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const berth = adminLine(host);
  const outOf = (...words: string[]) => berth.outOf(words);
  const newName = () => `line${++names}`;
  const statusFor = async (username: string, password: string) =>
    (await accounts.as(username, password).get('user/1')).status;
  /** Words that create this user, with the role `user`. */
  const creating = (name: string, ...options: string[]) => [
    ...['user', 'create', '--username', name, '--role-id', 'user', '--quota-id', 'default'],
    ...options,
  ];

  test('L40, L65: quotas are created, listed, shown, changed and deleted, with options named after the fields', async () => {
    const name = newName();
    const caps = ['--concurrent-executions', '3', '--memory', '64GiB', '--cores', '0'];
    const { quota_id: id } = await berth.json(['quota', 'create', '--name', name, ...caps]);
    const quota = { id, name, concurrent_executions: 3, memory: 64 * GIB, cores: 0 };
    expect(await accounts.read('quota', id)).toEqual(quota);
    const shown = { ...quota, time_limit: 0, max_time_limit: 0 };
    expect(await berth.json(['quota', 'ls', '--name', name])).toEqual([shown]);
    expect(await outOf('quota', 'ls', '--name', name, '-q')).toBe(`${id}\n`);
    expect(await outOf('quota', 'ls', '--name', name)).toMatch(
      new RegExp(
        `^ID +NAME +EXECUTIONS +MEMORY +CORES +TIME LIMIT +LONGEST\n${id} +${name} +3 +64\\.0 GiB( +no limit){3}\n$`,
      ),
    );
    expect(await outOf('quota', 'update', name, '--cores', '8')).toBe('');
    expect(await outOf('quota', 'update', name, '--time-limit', '90m', '--max-time-limit', '1d')).toBe('');
    expect(await berth.json(['quota', 'get', name])).toEqual({
      ...{ ...quota, cores: 8 },
      ...{ time_limit: 5_400, max_time_limit: 86_400 },
    });
    expect(await outOf('quota', 'ls', '--name', name)).toMatch(/90m +1d\n$/);
    expect(await outOf('quota', 'rm', name)).toBe(`${name}\n`);
    const gone = `There is no quota ${name}; berth quota ls lists them.\n`;
    expect(await berth.refusal(['quota', 'get', name])).toBe(gone);
  });

  test('L40: roles have each right as an option, and a new one has those that are given', async () => {
    const name = newName();
    const id = Number(await outOf('role', 'create', '--name', name, '--can-see-status', 'true'));
    expect(await outOf('role', 'ls')).toMatch(new RegExp(`\n${id} +${name} +can_see_status, can_exec\n`));
    await outOf('role', 'update', String(id), '--can-see-status', 'false', '--can-access-api', 'true');
    expect(await accounts.read('role', id)).toMatchObject({ can_see_status: false, can_access_api: true });
    expect(await outOf('role', 'get', name)).toMatch(
      /^FIELD +VALUE\n(.*\n)+can_access_api +true\ncan_exec +true\n$/,
    );
    expect(await outOf('role', 'rm', String(id))).toBe(`${id}\n`);
  });

  test('L40: users are listed by their fields, and their role and quota may be given by name', async () => {
    const [first, second] = [newName(), newName()];
    const made = await berth.run(creating(first, '--email', 'a@example.org'));
    const id = Number(made.out);
    expect(made.err).toBe(`It has no password yet: berth user update ${id} --password\n`);
    const fields = { username: first, role_id: ROLE.user, quota_id: 1 };
    expect(await accounts.read('user', id)).toMatchObject(fields);
    const other = await accounts.create('user', { username: second, ...plain });
    expect(await outOf('user', 'ls', '--email', 'a@example.org', '-q')).toBe(`${id}\n`);
    await outOf('user', 'update', second, '--role-id', 'superuser', '--enabled', 'false');
    expect(await outOf('user', 'ls', '--role-id', String(ROLE.superuser), '--enabled', 'false')).toMatch(
      new RegExp(`^ID +NAME .+\n${other} +${second} .+ false\n$`),
    );
    const removed = await berth.run(['user', 'rm', first, String(other)]);
    expect([removed.code, removed.out]).toEqual([0, `${first}\n${other}\n`]);
    expect(removed.err).toContain('What stays behind: files in workspaces');
  });

  test('L40: what is missing or wrong is named with its option', async () => {
    expect((await berth.run(['user', 'create', '--username', 'x'])).err).toContain("'--role-id <id|name>'");
    const refusals = [
      [['quota', 'update', '1', '--memory', 'much'], '--memory: much is not a size such as 64GiB.'],
      [['user', 'ls', '--enabled', 'maybe'], '--enabled: maybe is not true or false.'],
      [creating('x', '--role-id', 'king'), 'There is no role king; berth role ls lists them.'],
      [['role', 'update', '1'], 'Nothing is to be changed: berth role update --help shows the options.'],
    ] as const;
    for (const [words, message] of refusals) expect(await berth.refusal(words)).toBe(`${message}\n`);
  });

  test('L40: what is created is there once although its answer gets lost', async () => {
    const name = newName();
    const line = await FrailLine.to(host().url());
    const far = new CommandLine(undefined, { BERTH_URL: line.url });
    await far.run(['login', '--user', 'admin', '--password-stdin'], ADMIN_PASSWORD);
    line.answersToLose = 1;
    const { code, out } = await far.run(['role', 'create', '--name', name]);
    expect([code, out]).toEqual([0, await outOf('role', 'ls', '--name', name, '-q')]);
    line.close();
  });

  test('L4, L41: a new password comes from standard input, and what is refused leaves no user', async () => {
    const name = newName();
    expect(await berth.refusal(creating(name, '--password-stdin'), name)).toContain('password: ');
    expect(await outOf('user', 'ls', '--username', name, '-q')).toBe('');
    const made = await berth.run(creating(name, '--password-stdin'), `${PASSWORD}\n`);
    expect([made.code, made.err]).toEqual([0, '']);
    expect(await statusFor(name, PASSWORD)).not.toBe(401);
    expect((await berth.run(['user', 'update', name, '--password-stdin'], 'another one')).code).toBe(0);
    expect(await statusFor(name, 'another one')).not.toBe(401);
    expect((await berth.run(['user', 'update', name, '--password'])).err).toContain('--password-stdin');
  });

  test('L4, L41: a new password is typed twice, unseen, and two different ones change nothing', async () => {
    const name = newName();
    await accounts.addUser(name);
    const words = ['user', 'update', name, '--password'];
    const typed = (second: string) =>
      berth.onTerminal(words, {
        answers: [
          ['New password: ', PASSWORD],
          ['The same again: ', second],
        ],
      });
    const different = await typed('a typing error');
    expect(different).toMatchObject({ code: 125, out: expect.stringContaining('two different passwords') });
    expect(await statusFor(name, PASSWORD)).toBe(401);
    const { code, out } = await typed(PASSWORD);
    expect(code).toBe(0);
    expect(out).not.toContain(PASSWORD);
    expect(await statusFor(name, PASSWORD)).not.toBe(401);
  });

  test('L41: your own password changes with the current one, and your sessions end', async () => {
    const name = newName();
    const id = await accounts.addUser(name, { role_id: ROLE.superuser });
    const own = new CommandLine();
    await own.logIn(host().url(), 'secret words', name);
    const words = ['user', 'update', String(id), '--password-stdin'];
    expect((await own.run(words, PASSWORD)).code).toBe(125);
    expect((await own.run([...words, '--current-password'], PASSWORD)).err).toContain('two lines');
    const { code, err } = await own.run([...words, '--current-password'], `secret words\n${PASSWORD}\n`);
    expect([code, err]).toEqual([0, 'Your sessions have ended. Log in again: berth login\n']);
    expect(await statusFor(name, PASSWORD)).not.toBe(401);
    expect((await own.run(['ps'])).err).toContain('Log in: berth login');
  });
});
