/** Secrets and files: one control plane of each host, with an agent that fetches values, serves all tests. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { SECRETS_PATH, secretsAudience } from '../../../shared/protocol/secrets.ts';
import { proofFor, ScriptedAgent, seen } from '../../support/agents/scripted-agent.ts';
import { basic, HttpClient, type Reply } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { addUser } from '../../support/fixtures/users.ts';
import { ADMIN_PASSWORD, onHosts, type Setup } from '../../support/hosts/hosts.ts';
import { eventually } from '../../support/tools/eventually.ts';

const setups: readonly Setup[] = [
  { kind: 'node', variant: 'A' },
  { kind: 'workerd', variant: 'B' },
];
const NATIVE = '/native/api/0.7';
const PASSWORD = 'secret words';
const LIMIT = 4;
const SETTINGS = {
  BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  BERTH_LIMITS: JSON.stringify({ secretsPerUser: LIMIT, hostSecretBytes: '4MiB' }),
};

onHosts(
  setups,
  (host) => {
    const anonymous = new HttpClient(() => host().url());
    const as = (username: string, password = PASSWORD) => anonymous.with(basic(username, password));
    const admin = as('admin', ADMIN_PASSWORD);
    const set = (client: HttpClient, name: string, value: string, fields: object = {}) =>
      client.post(`${NATIVE}/secret`, { name, value, ...fields });
    const list = async (client: HttpClient) =>
      Object.values((await client.get(`${NATIVE}/secret`)).json<Record<string, Record<string, unknown>>>());
    const using = (environment: [string, string][]) => ({
      name: 'with secrets',
      application: application(service({ environment, labels: ['runner'] })),
    });
    const submit = async (client: HttpClient, environment: [string, string][]): Promise<Reply> =>
      client.post(`${NATIVE}/execution`, using(environment));
    let users = 0;
    const newUser = async (): Promise<HttpClient> => {
      const name = `keeper${++users}`;
      await addUser(host(), name, PASSWORD, 'user');
      return as(name);
    };
    let agent: ScriptedAgent;
    beforeAll(async () => {
      agent = await ScriptedAgent.join(host(), { facts: { name: 'runner', labels: ['runner'] } });
      await ScriptedAgent.join(host(), { facts: { name: 'other' } });
    });
    afterAll(() => agent?.close());
    /** The assignment of an execution that is submitted now. */
    const started = async (client: HttpClient, environment: [string, string][]): Promise<Assignment> => {
      const reply = await submit(client, environment);
      expect(reply.status, reply.text).toBe(200);
      return assignmentOf(reply.json<{ execution_id: number }>().execution_id);
    };
    const assignmentOf = (id: number): Promise<Assignment> =>
      eventually(() => {
        const found = [...agent.assignments.values()].find(({ execution }) => execution === id);
        if (!found) throw new Error('not assigned yet');
        return found;
      });
    const fetched = async (
      { service: id, generation }: { service: number; generation: number },
      { from = 'runner', aud = secretsAudience(host().deployment) } = {},
    ): Promise<Reply> =>
      anonymous
        .with({ authorization: await proofFor(host(), from, { aud }) })
        .get(`${SECRETS_PATH}?service=${id}&generation=${generation}`);

    test('H575: a secret is set, listed without its value, replaced under its id, and removed', async () => {
      const user = await newUser();
      const reply = await set(user, 'DB_PASSWORD', 'first');
      expect([reply.status, reply.json()]).toEqual([200, { secret_id: expect.any(Number) }]);
      const { secret_id: id } = reply.json<{ secret_id: number }>();
      expect((await set(user, 'DB_PASSWORD', 'the second')).json()).toEqual({ secret_id: id });
      const listed = { id, name: 'DB_PASSWORD', for_all: false, size: 10, set_at: expect.any(Number) };
      expect(await list(user)).toEqual([listed]);
      expect((await user.send('DELETE', `${NATIVE}/secret/${id}`)).status).toBe(200);
      expect((await user.send('DELETE', `${NATIVE}/secret/${id}`)).status).toBe(404);
      expect(await list(user)).toEqual([]);
    });

    test('H576: users change their own secrets only, and administrators those of all, which all may use', async () => {
      const [user, another] = [await newUser(), await newUser()];
      const own = (await set(user, 'OWN', 'mine')).json<{ secret_id: number }>().secret_id;
      expect((await set(user, 'ALL', 'x', { for_all: true })).status).toBe(403);
      const common = (await set(admin, 'ALL', 'common', { for_all: true })).json<{ secret_id: number }>()
        .secret_id;
      const statuses = [
        await another.send('DELETE', `${NATIVE}/secret/${own}`),
        await admin.send('DELETE', `${NATIVE}/secret/${own}`),
        await another.send('DELETE', `${NATIVE}/secret/${common}`),
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
      expect((await admin.send('DELETE', `${NATIVE}/secret/${common}`)).status).toBe(200);
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
      const beyond = await set(user, 'MORE', 'x');
      expect([beyond.status, beyond.text]).toEqual([
        409,
        expect.stringContaining('BERTH_LIMITS.secretsPerUser'),
      ]);
      expect((await set(user, 'S0', 'replaced')).status).toBe(200);
    });

    test('H578: a submission or an explanation that refers to a secret that is not there is 400 and says what to do', async () => {
      const user = await newUser();
      await set(user, 'THERE', 'x');
      const environment: [string, string][] = [['A', '{secret#THERE} {secret#NOT_THERE} {{secret#LITERAL}}']];
      const replies = [
        await submit(user, environment),
        await user.post(`${NATIVE}/execution/explain`, using(environment)),
        await user.post('/api/0.7/execution', using(environment)),
      ];
      for (const { status, text, headers } of replies) {
        expect(status).toBe(400);
        expect(text + headers.status).toContain(
          'There is no secret NOT_THERE: set it with `berth secret set NOT_THERE`.',
        );
      }
      const inCommand = await user.post(`${NATIVE}/execution`, {
        name: 'in the command',
        application: application(service({ command: 'echo {secret#THERE}' })),
      });
      expect([inCommand.status, inCommand.text]).toEqual([
        400,
        expect.stringContaining('in the environment'),
      ]);
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
        ['URL', `db://keeper${users}:${value}@db/${assignment.execution}`],
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
      const seen = [
        await user.get(`${NATIVE}/execution/${assignment.execution}`),
        await user.get(`${NATIVE}/service/${id}`),
        await user.get(`${NATIVE}/secret`),
        await admin.get(`${NATIVE}/audit`),
      ].map(({ text }) => text);
      expect(seen[0]).toContain('{secret#DB_PASSWORD}');
      expect(seen.join()).not.toContain(value);
      expect(JSON.stringify(agent.messages)).not.toContain(value);
      expect(host().output()).not.toContain(value);
      const db = await host().openDb();
      const tables = await db.query("SELECT name FROM sqlite_master WHERE type = 'table'");
      for (const { name } of tables) {
        const rows = JSON.stringify(await db.query(`SELECT * FROM "${name}"`));
        expect(rows.includes(value) || rows.includes(Buffer.from(value).toString('base64')), `${name}`).toBe(
          false,
        );
      }
      await db.close();
    });

    test('C297, P241: a start that is not assigned to the host now is the same 404, before, after and for others', async () => {
      const user = await newUser();
      await set(user, 'A', 'x');
      const assignment = await started(user, [['A', '{secret#A}']]);
      const { execution, service: id, generation } = assignment;
      const labelled = application(service({ environment: [['A', '{secret#A}']], labels: ['nowhere'] }));
      const waiting = await user.post(`${NATIVE}/execution`, { name: 'waits', application: labelled });
      const { execution_id } = waiting.json<{ execution_id: number }>();
      const [notPlaced = 0] = (await user.get(`${NATIVE}/execution/${execution_id}`)).json<{
        services: number[];
      }>().services;
      const answers = [
        await fetched(assignment, { from: 'other' }),
        await fetched({ service: id, generation: generation + 1 }),
        await fetched({ service: id, generation: 0 }),
        await fetched({ service: notPlaced, generation: 1 }),
        await fetched({ service: notPlaced, generation: 0 }),
        await fetched({ service: 10 ** 14, generation: 10 ** 14 }),
      ];
      expect((await fetched(assignment)).status).toBe(200);
      await user.send('DELETE', `${NATIVE}/execution/${execution}`);
      answers.push(await fetched(assignment));
      await agent.report(seen.gone(assignment));
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
      const withFiles = (paths: string[]) => {
        const files = paths.map((path) => ({ name: 'key.pem', path }));
        return { name: 'files', application: application(service({ files, labels: ['runner'] })) };
      };
      for (const paths of [['key'], ['/a/../b'], ['/proc/1'], ['/dev'], ['/'], ['/a/'], ['/a', '/a']])
        expect((await user.post(`${NATIVE}/execution`, withFiles(paths))).status, `${paths}`).toBe(400);
      const reply = await user.post(`${NATIVE}/execution`, withFiles(['/etc/key', '/devices/key']));
      expect(reply.status, reply.text).toBe(200);
      const { execution_id } = reply.json<{ execution_id: number }>();
      const assignment = await assignmentOf(execution_id);
      expect((await fetched(assignment)).json()).toMatchObject({
        files: [
          { path: '/etc/key', content },
          { path: '/devices/key', content },
        ],
      });
      const missing = { ...withFiles(['/x']).application.services[0], files: [{ name: 'none', path: '/x' }] };
      const refused = await user.post(`${NATIVE}/execution`, {
        name: 'missing',
        application: { ...application(service()), services: [missing] },
      });
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('There is no file none')]);
    });

    test('W149: the page sets, lists and removes secrets, and never shows a value', async () => {
      const name = `keeper${++users}`;
      await addUser(host(), name, PASSWORD, 'user');
      const page = await WebClient.logIn(host, name, PASSWORD);
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
      const [secret] = await list(as(name));
      expect((await page.act(`/account/secrets/secret/${secret?.id}/remove`)).text).toContain('was removed');
      expect(await list(as(name))).toEqual([]);
    });

    test('C298, P222, H580: a secret that was removed after the submission fails the start, and says so', async () => {
      const user = await newUser();
      const { secret_id } = (await set(user, 'GONE', 'x')).json<{ secret_id: number }>();
      const assignment = await started(user, [['A', '{secret#GONE}']]);
      await user.send('DELETE', `${NATIVE}/secret/${secret_id}`);
      const reply = await fetched(assignment);
      expect([reply.status, reply.text]).toEqual([400, expect.stringContaining('There is no secret GONE')]);
      await set(user, 'GONE', 'x');
      const waiting = { ...using([['A', '{secret#GONE}']]).application.services[0], labels: ['nowhere'] };
      const queued = await user.post(`${NATIVE}/execution`, {
        name: 'waits',
        application: { ...application(service()), services: [waiting] },
      });
      const { execution_id } = queued.json<{ execution_id: number }>();
      const [secret] = await list(user);
      await user.send('DELETE', `${NATIVE}/secret/${secret?.id}`);
      const explained = await user.get(`${NATIVE}/execution/${execution_id}/explain`);
      expect(explained.text).toContain('Its start would fail. There is no secret GONE');
    });

    test('H580: the values of a service are bounded, in one variable and in all', async () => {
      const user = await newUser();
      await set(user, 'LONG', 'x'.repeat(65_536));
      const one = await fetched(await started(user, [['A', '{secret#LONG}{secret#LONG}']]));
      expect([one.status, one.text]).toEqual([400, expect.stringContaining('The variable A has')]);
      const many = await fetched(
        await started(
          user,
          Array.from({ length: 40 }, (_, at): [string, string] => [`V${at}`, '{secret#LONG}']),
        ),
      );
      expect([many.status, many.text]).toEqual([400, expect.stringContaining('more than 2 MiB')]);
    });

    test('C295: the secrets of a deleted user are deleted', async () => {
      const user = await newUser();
      await set(user, 'MINE', 'x');
      const found = (await admin.get(`${NATIVE}/user?username=keeper${users}`)).json();
      expect((await admin.send('DELETE', `${NATIVE}/user/${Object.keys(found)[0]}`)).status).toBe(200);
      const db = await host().openDb();
      const [row] = await db.query("SELECT count(*) AS n FROM user_secrets WHERE name = 'MINE'");
      await db.close();
      expect(row?.n).toBe(0);
    });

    test('P240: a host that fetches more than its allowance gets 429 and the time to wait; another host does not', async () => {
      const user = await newUser();
      await set(user, 'LONG', 'x'.repeat(65_000));
      const labelled = application(
        service({
          environment: Array.from({ length: 32 }, (_, n): [string, string] => [`V${n}`, '{secret#LONG}']),
          labels: ['greedy'],
        }),
      );
      const greedy = await ScriptedAgent.join(host(), { facts: { name: 'greedy', labels: ['greedy'] } });
      const sent = await user.post(`${NATIVE}/execution`, { name: 'long', application: labelled });
      const [one] = await greedy.assigned(sent.json<{ execution_id: number }>().execution_id);
      if (!one) throw new Error('not assigned');
      const replies = [];
      for (let n = 0; n < 20; n++) replies.push(await fetched(one, { from: 'greedy' }));
      expect(replies[0]?.status).toBe(200);
      const excess = replies.find(({ status }) => status !== 200);
      expect([excess?.status, excess?.text]).toEqual([
        429,
        expect.stringContaining('BERTH_LIMITS.hostSecretBytes'),
      ]);
      expect(Number(excess?.headers['retry-after'])).toBeGreaterThan(0);
      expect(host().output()).toContain('"event":"agent.too-many-secrets"');
      const others = await started(user, [['A', '{secret#LONG}']]);
      expect((await fetched(others)).status).toBe(200);
      const metrics = await admin.get('/metrics');
      expect(metrics.text).toMatch(/berth_secret_fetches_total\{outcome="excess"\} [1-9]/);
      await greedy.close();
    });
  },
  SETTINGS,
);
