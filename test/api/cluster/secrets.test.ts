/** Secrets and files: one control plane of each host, with an agent that fetches values, serves all tests. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { SECRETS_PATH, secretsAudience } from '../../../shared/protocol/secrets.ts';
import { ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { expectAnswer, type HttpClient, NATIVE } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { onEach, onHostsWith, queryRows } from '../../support/hosts/hosts.ts';
import { fetchingHost } from '../../support/rigs/fetching-host.ts';

const LIMIT = 4;
const SETTINGS = {
  BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  BERTH_LIMITS: JSON.stringify({ secretsPerUser: LIMIT, hostSecretBytes: '4MiB' }),
};

/** So many variables that have a long secret. */
const variables = (count: number): [string, string][] =>
  Array.from({ length: count }, (_, n) => [`V${n}`, '{secret#LONG}']);

onHostsWith(SETTINGS, onEach('A', 'B'), (host) => {
  const rig = fetchingHost(host, { path: SECRETS_PATH, audience: secretsAudience });
  const { anonymous, admin, newUser, fetched } = rig;
  const set = (client: HttpClient, name: string, value: string, fields: object = {}) =>
    client.post(`${NATIVE}/secret`, { name, value, ...fields });
  const setId = async (...args: Parameters<typeof set>) => Number((await set(...args)).json().secret_id);
  const list = async (client: HttpClient) =>
    Object.values((await client.get(`${NATIVE}/secret`)).json<Record<string, Record<string, unknown>>>());
  const remove = (client: HttpClient, id: unknown) => client.delete(`${NATIVE}/secret/${id}`);
  const started = (client: HttpClient, environment: [string, string][]) =>
    rig.started(client, { environment });

  test('H575: a secret is set, listed without its value, replaced under its id, and removed', async () => {
    const user = await newUser();
    const reply = await set(user, 'DB_PASSWORD', 'first');
    expect([reply.status, reply.json()]).toEqual([200, { secret_id: expect.any(Number) }]);
    const { secret_id: id } = reply.json<{ secret_id: number }>();
    expect((await set(user, 'DB_PASSWORD', 'the second')).json()).toEqual({ secret_id: id });
    const listed = { id, name: 'DB_PASSWORD', for_all: false, size: 10, set_at: expect.any(Number) };
    expect(await list(user)).toEqual([listed]);
    expect([(await remove(user, id)).status, (await remove(user, id)).status]).toEqual([200, 404]);
    expect(await list(user)).toEqual([]);
  });

  test('H576: users change their own secrets only, and administrators those of all, which all may use', async () => {
    const [user, another] = [await newUser(), await newUser()];
    const own = await setId(user, 'OWN', 'mine');
    expect((await set(user, 'ALL', 'x', { for_all: true })).status).toBe(403);
    const common = await setId(admin, 'ALL', 'common', { for_all: true });
    const statuses = [
      await remove(another, own),
      await remove(admin, own),
      await remove(another, common),
      await another.post(`${NATIVE}/secret/encrypt`, {}),
      await anonymous.get(`${NATIVE}/secret`),
    ].map(({ status }) => status);
    expect(statuses).toEqual([404, 404, 403, 403, 401]);
    expect((await list(another)).map(({ name, for_all }) => [name, for_all])).toEqual([['ALL', true]]);
    const assignment = await started(another, [['VALUE', '{secret#ALL}']]);
    expect((await fetched(assignment)).json()).toMatchObject({
      environment: expect.arrayContaining([['VALUE', 'common']]),
    });
    await set(another, 'ALL', 'own');
    expect((await fetched(assignment)).text).toContain('"own"');
    expect((await remove(admin, common)).status).toBe(200);
  });

  test('H577: names, sizes and numbers of secrets are bounded, and the answer names the limit', async () => {
    const user = await newUser();
    const refused: [name: string, value: string][] = [
      ['', 'x'],
      ['with space', 'x'],
      ['a.b', 'x'],
      ['-a', 'x'],
      ['a'.repeat(65), 'x'],
      ['A', ''],
      ['A', 'x'.repeat(65_537)],
      ['A', 'ä'.repeat(32_769)],
      ['A', 'a\0b'],
    ];
    for (const [name, value] of refused) expect((await set(user, name, value)).status, name).toBe(400);
    for (let n = 0; n < LIMIT; n++) expect((await set(user, `S${n}`, 'x'.repeat(65_536))).status).toBe(200);
    await expectAnswer(set(user, 'MORE', 'x'), 409, 'BERTH_LIMITS.secretsPerUser');
    expect((await set(user, 'S0', 'replaced')).status).toBe(200);
  });

  test('H578: a submission or an explanation that refers to a secret that is not there is 400 and says what to do', async () => {
    const user = await newUser();
    await set(user, 'THERE', 'x');
    const body = rig.submission({
      environment: [['A', '{secret#THERE} {secret#NOT_THERE} {{secret#LITERAL}}']],
    });
    const paths = [`${NATIVE}/execution`, `${NATIVE}/execution/explain`, '/api/0.7/execution'];
    const replies = await Promise.all(paths.map((path) => user.post(path, body)));
    for (const { status, text, headers } of replies) {
      expect(status).toBe(400);
      expect(text + headers.status).toContain(
        'There is no secret NOT_THERE: set it with `berth secret set NOT_THERE`.',
      );
    }
    await expectAnswer(rig.submit(user, { command: 'echo {secret#THERE}' }), 400, 'in the environment');
  });

  test('P220, H579: only the host of the service gets the values, and nobody sees them elsewhere', async () => {
    const user = await newUser();
    const value = `s3cret-${randomBytes(8).toString('hex')}`;
    await set(user, 'DB_PASSWORD', value);
    const assignment = await started(user, [
      ['URL', 'db://{user_name}:{secret#DB_PASSWORD}@db/{execution_id}'],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
      ['SHELL', '${secret#DB_PASSWORD}'],
    ]);
    expect(assignment).toMatchObject({ secrets: true, environment: [] });
    const reply = await fetched(assignment);
    expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(reply.json<{ environment: [string, string][] }>().environment.slice(0, 3)).toEqual([
      ['URL', `db://${rig.lastUser()}:${value}@db/${assignment.execution}`],
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own.
      ['SHELL', '${secret#DB_PASSWORD}'],
      ['EXECUTION_ID', String(assignment.execution)],
    ]);
    const { service: id, generation } = assignment;
    const others = [
      await fetched(assignment, { from: 'other' }),
      await fetched({ service: id, generation: generation + 1 }),
      await fetched({ service: id + 1_000, generation }),
      await fetched(assignment, { aud: host().deployment }),
      await user.get(`${SECRETS_PATH}?service=${id}&generation=${generation}`),
    ];
    expect(others.map(({ status }) => status)).toEqual([404, 404, 404, 401, 401]);
    expect(others.map(({ text }) => text).join()).not.toContain(value);
    const seen = await rig.everythingSeen(user, assignment);
    expect(seen).toContain('{secret#DB_PASSWORD}');
    for (const text of [value, Buffer.from(value).toString('base64')])
      expect(seen.includes(text), text).toBe(false);
  });

  test('C297, P241: a start that is not assigned to the host now is the same 404, before, after and for others', async () => {
    const user = await newUser();
    await set(user, 'A', 'x');
    const assignment = await started(user, [['A', '{secret#A}']]);
    const { execution, service: id, generation } = assignment;
    const waiting = await rig.submit(user, { environment: [['A', '{secret#A}']], labels: ['nowhere'] });
    const read = await user.get(`${NATIVE}/execution/${waiting.json().execution_id}`);
    const [notPlaced = 0] = read.json<{ services: number[] }>().services;
    const answers = [
      await fetched(assignment, { from: 'other' }),
      await fetched({ service: id, generation: generation + 1 }),
      await fetched({ service: id, generation: 0 }),
      await fetched({ service: notPlaced, generation: 1 }),
      await fetched({ service: notPlaced, generation: 0 }),
      await fetched({ service: 10 ** 14, generation: 10 ** 14 }),
    ];
    expect((await fetched(assignment)).status).toBe(200);
    await user.delete(`${NATIVE}/execution/${execution}`);
    answers.push(await fetched(assignment));
    await rig.agent().report(seen.gone(assignment));
    answers.push(await fetched(assignment));
    expect([...new Set(answers.map(({ status, text }) => `${status} ${text}`))]).toEqual([
      expect.stringMatching(/^404 /),
    ]);
  });

  test('H575, H579: a value is passed on as it is, and no reference in it is replaced', async () => {
    const user = await newUser();
    const value = '\uFEFF{secret#OTHER} {{user_name}} {user_name}\n\t"\\\u0001 ä\u{1F511} \uFFFD';
    await set(user, 'ODD', value);
    await set(user, 'OTHER', 'never');
    const reply = await fetched(await started(user, [['A', '<{secret#ODD}>']]));
    expect(reply.json<{ environment: [string, string][] }>().environment[0]).toEqual(['A', `<${value}>`]);
    const malformed = await user.send('POST', `${NATIVE}/secret`, '{"name":"A","value":"s3cret" oops}');
    expect([malformed.status, malformed.text.includes('s3cret')]).toEqual([400, false]);
  });

  test('H575, H582: a file is set in base64, and the host of a service gets it with its path', async () => {
    const user = await newUser();
    const content = Buffer.from([0, 1, 254, 255]).toString('base64');
    const setFile = (name: string, value: string) => user.post(`${NATIVE}/file`, { name, value });
    for (const [name, value] of [
      ['a/b', content],
      ['key.pem', 'not base64'],
      ['key.pem', Buffer.alloc(262_145).toString('base64')],
    ] as const)
      expect((await setFile(name, value)).status).toBe(400);
    expect((await setFile('key.pem', content)).status).toBe(200);
    const withFiles = (...paths: string[]) => ({ files: paths.map((path) => ({ name: 'key.pem', path })) });
    for (const paths of [['key'], ['/a/../b'], ['/proc/1'], ['/dev'], ['/'], ['/a/'], ['/a', '/a']])
      expect((await rig.submit(user, withFiles(...paths))).status, `${paths}`).toBe(400);
    const assignment = await rig.started(user, withFiles('/etc/key', '/devices/key'));
    expect((await fetched(assignment)).json()).toMatchObject({
      files: [
        { path: '/etc/key', content },
        { path: '/devices/key', content },
      ],
    });
    const refused = await rig.submit(user, { files: [{ name: 'none', path: '/x' }] });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('There is no file none')]);
  });

  test('W149: the page sets, lists and removes secrets, and never shows a value', async () => {
    const user = await newUser();
    const page = await WebClient.logIn(host, rig.lastUser(), 'secret words');
    expect((await page.get('/account')).text).toContain('/account/secrets');
    const value = 'not for the page';
    const wrong = await page.post('/account/secrets/secret', { secret_name: '<i>', secret_value: value });
    expect([wrong.status, wrong.text.includes('secret_name-problem'), wrong.text.includes(value)]).toEqual([
      ...[400, true, false],
    ]);
    await page.act('/account/secrets/secret', { secret_name: 'DB', secret_value: value });
    const listed = await page.act('/account/secrets/file', { file_name: 'a.conf', file_value: value });
    expect(listed.text).toContain('The file a.conf was set.');
    expect(listed.text).toContain('Remove secret DB');
    expect(listed.text).not.toContain(value);
    const forAll = { secret_name: 'DB', secret_value: value, secret_all: 'on' };
    expect((await page.post('/account/secrets/secret', forAll)).status).toBe(403);
    const [secret] = await list(user);
    expect((await page.act(`/account/secrets/secret/${secret?.id}/remove`)).text).toContain('was removed');
    expect(await list(user)).toEqual([]);
  });

  test('C298, P222, H580: a secret that was removed after the submission fails the start, and says so', async () => {
    const user = await newUser();
    const environment: [string, string][] = [['A', '{secret#GONE}']];
    const first = await setId(user, 'GONE', 'x');
    const assignment = await started(user, environment);
    await remove(user, first);
    await expectAnswer(fetched(assignment), 400, 'There is no secret GONE');
    const second = await setId(user, 'GONE', 'x');
    const queued = await rig.submit(user, { environment, labels: ['nowhere'] });
    await remove(user, second);
    const explained = await user.get(`${NATIVE}/execution/${queued.json().execution_id}/explain`);
    expect(explained.text).toContain('Its start would fail. There is no secret GONE');
  });

  test('H580: the values of a service are bounded, in one variable and in all', async () => {
    const user = await newUser();
    await set(user, 'LONG', 'x'.repeat(65_536));
    const one = await fetched(await started(user, [['A', '{secret#LONG}{secret#LONG}']]));
    expect([one.status, one.text]).toEqual([400, expect.stringContaining('The variable A has')]);
    await expectAnswer(fetched(await started(user, variables(40))), 400, 'more than 2 MiB');
  });

  test('C295: the secrets of a deleted user are deleted', async () => {
    await set(await newUser(), 'MINE', 'x');
    await rig.deleteLastUser();
    expect(await queryRows(host(), "SELECT id FROM user_secrets WHERE name = 'MINE'")).toEqual([]);
  });

  test('P240: a host that fetches more than its allowance gets 429 and the time to wait; another host does not', async () => {
    const user = await newUser();
    await set(user, 'LONG', 'x'.repeat(65_000));
    await using greedy = await ScriptedAgent.join(host(), { facts: { name: 'greedy', labels: ['greedy'] } });
    const sent = await rig.submit(user, { environment: variables(32), labels: ['greedy'] });
    const one = await greedy.only(Number(sent.json().execution_id));
    const replies = [];
    for (let n = 0; n < 20; n++) replies.push(await fetched(one, { from: 'greedy' }));
    expect(replies[0]?.status).toBe(200);
    const excess = replies.find(({ status }) => status !== 200);
    expect(excess?.status).toBe(429);
    expect(excess?.text).toContain('BERTH_LIMITS.hostSecretBytes');
    expect(Number(excess?.headers['retry-after'])).toBeGreaterThan(0);
    expect(host().output()).toContain('"event":"agent.too-many-secrets"');
    const others = await started(user, [['A', '{secret#LONG}']]);
    expect((await fetched(others)).status).toBe(200);
    const metrics = await admin.get('/metrics');
    expect(metrics.text).toMatch(/berth_secret_fetches_total\{outcome="excess"\} [1-9]/);
  });
});
