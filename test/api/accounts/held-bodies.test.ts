/** Requests whose head arrives before a change of their user, and whose body arrives after it. */
import { expect, test } from 'vitest';
import { AccountClient, type Fields, ROLE } from '../../support/clients/account-client.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { formOf, PAGE, WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { hosts, onHosts } from '../../support/hosts/hosts.ts';

const PASSWORD = 'a fair password';

const description = JSON.stringify(application(service()));

const CHANGES: readonly [what: string, change: Fields][] = [
  ['the password', { password: 'another fair password' }],
  ['the role', { role_id: ROLE.user }],
  ['enabled', { enabled: false }],
];

onHosts(hosts, (host) => {
  const accounts = new AccountClient(host);
  const anonymous = new HttpClient(() => host().url());

  /** Holds back a submission and changes of the configuration, by each kind of credential of a new user. */
  async function holdBodies(username: string) {
    const id = await accounts.addUser(username, { role_id: ROLE.admin }, PASSWORD);
    const byPassword = anonymous.with(basic(username, PASSWORD));
    const page = await WebClient.logIn(host, username, PASSWORD);
    const byCookie = anonymous.with({ cookie: page.cookie });
    await byPassword.get('login');
    const submission = (name: string) => JSON.stringify({ name, application: application(service()) });
    const form = (name: string) => ({ name, description, action: 'submit' });
    const nameOf = (name: string) => `${name} of ${username}`;
    const rests = await Promise.all([
      byPassword.hold('POST', 'execution', submission(nameOf('first'))),
      byCookie.hold('POST', 'execution', submission(nameOf('second'))),
      byPassword.hold('POST', 'role', JSON.stringify({ name: nameOf('first') })),
      byCookie.hold('POST', 'role', JSON.stringify({ name: nameOf('second') })),
      byCookie.with(PAGE).hold('POST', '/admin/roles', formOf({ name: nameOf('third') })),
      byCookie.with(PAGE).hold('POST', '/start?by=description', formOf(form(nameOf('third')))),
    ]);
    // Whatever has arrived before these requests is waiting for its body.
    await Promise.all([byPassword.get('user'), byCookie.get('user')]);
    return { id, page, sendRests: () => Promise.all(rests.map((send) => send())) };
  }

  /** The names of what was made. */
  async function made(username: string): Promise<string[]> {
    const lists = await Promise.all(['execution', 'role'].map((path) => accounts.admin.get(path)));
    const names = lists.flatMap((list) =>
      Object.values(list.json<Record<string, { name: string }>>()).map(({ name }) => name),
    );
    return names.filter((name) => name.endsWith(` of ${username}`));
  }
  const statuses = (replies: readonly Reply[]) => replies.map(({ status }) => status);

  test.each(CHANGES)(
    'H19: a change of %s refuses requests whose body arrives later',
    async (what, change) => {
      const username = what.replaceAll(' ', '-');
      const { id, sendRests } = await holdBodies(username);
      await accounts.update('user', id, change);
      expect(statuses(await sendRests())).toEqual([401, 401, 401, 401, 401, 401]);
      expect(await made(username)).toEqual([]);
    },
  );

  test('H19, H750: a change of the e-mail address, name or quota refuses no request under way', async () => {
    const { id, sendRests } = await holdBodies('renamed');
    const caps = { concurrent_executions: 5, memory: 0, cores: 0 };
    const quota = await accounts.create('quota', { name: 'a quota', ...caps });
    await accounts.update('user', id, { email: 'new@example.org', quota_id: quota, priority: 1 });
    expect(statuses(await sendRests())).toEqual([200, 200, 200, 200, 303, 303]);
    expect(await made('renamed')).toHaveLength(6);
  });

  test('H750: of simultaneous changes of the own e-mail address none is refused', async () => {
    const id = await accounts.addUser('busy', {}, PASSWORD);
    const page = await WebClient.logIn(host, 'busy', PASSWORD);
    const own = anonymous.with({ cookie: page.cookie });
    const replies = await Promise.all(
      Array.from({ length: 200 }, (_, at) => own.post(`user/${id}`, { email: `${at}@example.org` })),
    );
    expect(new Set(statuses(replies))).toEqual(new Set([200]));
  });
});
