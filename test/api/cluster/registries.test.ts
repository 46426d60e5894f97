/** Credentials of registries: one control plane of each host, with an agent that fetches them, serves all. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { CREDENTIALS_PATH, credentialsAudience, secretsAudience } from '../../../shared/protocol/secrets.ts';
import { proofFor, ScriptedAgent } from '../../support/agents/scripted-agent.ts';
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
const REGISTRY = 'registry.example.org:5000';
const LIMIT = 3;
const SETTINGS = {
  BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  BERTH_LIMITS: JSON.stringify({ secretsPerUser: LIMIT }),
};

onHosts(
  setups,
  (host) => {
    const anonymous = new HttpClient(() => host().url());
    const as = (username: string, password = PASSWORD) => anonymous.with(basic(username, password));
    const admin = as('admin', ADMIN_PASSWORD);
    const login = (word: string) => ({ username: 'ci', password: word });
    const set = (client: HttpClient, registry: string, word: string, fields: object = {}) =>
      client.post(`${NATIVE}/registry`, { registry, ...login(word), ...fields });
    const list = async (client: HttpClient) =>
      Object.values((await client.get(`${NATIVE}/registry`)).json<Record<string, Record<string, unknown>>>());
    const remove = (client: HttpClient, id: unknown) => client.send('DELETE', `${NATIVE}/registry/${id}`);
    const idIn = (reply: Reply) => reply.json<{ registry_id: number }>().registry_id;
    let users = 0;
    const newUser = async (): Promise<HttpClient> => {
      const name = `puller${++users}`;
      await addUser(host(), name, PASSWORD, 'user');
      return as(name);
    };
    let agent: ScriptedAgent;
    beforeAll(async () => {
      agent = await ScriptedAgent.join(host(), { facts: { name: 'runner', labels: ['runner'] } });
      await ScriptedAgent.join(host(), { facts: { name: 'other' } });
    });
    afterAll(() => agent?.close());
    const submit = async (client: HttpClient, image: string, label = 'runner'): Promise<number> => {
      const described = application(service({ image, labels: [label] }));
      const reply = await client.post(`${NATIVE}/execution`, { name: 'pulls', application: described });
      expect(reply.status, reply.text).toBe(200);
      return reply.json<{ execution_id: number }>().execution_id;
    };
    /** The assignment of an execution that is submitted now. */
    const started = async (client: HttpClient, image: string): Promise<Assignment> => {
      const id = await submit(client, image);
      return eventually(() => {
        const found = [...agent.assignments.values()].find(({ execution }) => execution === id);
        if (!found) throw new Error('not assigned yet');
        return found;
      });
    };
    const fetched = async (
      { service: id, generation }: { service: number; generation: number },
      { from = 'runner', aud = credentialsAudience(host().deployment) } = {},
    ): Promise<Reply> =>
      anonymous
        .with({ authorization: await proofFor(host(), from, { aud }) })
        .get(`${CREDENTIALS_PATH}?service=${id}&generation=${generation}`);

    test('H620: credentials are set, listed by registry only, replaced under their id, and removed', async () => {
      const user = await newUser();
      const reply = await set(user, 'Registry.Example.ORG:5000', 'first');
      expect([reply.status, reply.json()]).toEqual([200, { registry_id: expect.any(Number) }]);
      const id = idIn(reply);
      expect(idIn(await set(user, REGISTRY, 'second'))).toBe(id);
      expect(await list(user)).toEqual([
        { id, registry: REGISTRY, for_all: false, set_at: expect.any(Number) },
      ]);
      expect((await remove(user, id)).status).toBe(200);
      expect((await remove(user, id)).status).toBe(404);
      expect(await list(user)).toEqual([]);
    });

    test('H621: users change their own credentials only, and administrators those of all, which all use', async () => {
      const [user, another] = [await newUser(), await newUser()];
      const own = idIn(await set(user, REGISTRY, 'mine'));
      expect((await set(user, 'ghcr.io', 'x', { for_all: true })).status).toBe(403);
      const common = idIn(await set(admin, REGISTRY, 'common', { for_all: true }));
      const statuses = [
        await remove(another, own),
        await remove(admin, own),
        await remove(another, common),
        await anonymous.get(`${NATIVE}/registry`),
        await anonymous.post(`${NATIVE}/registry`, { registry: REGISTRY, ...login('x') }),
      ].map(({ status }) => status);
      expect(statuses).toEqual([404, 404, 403, 401, 401]);
      expect((await list(another)).map(({ for_all }) => for_all)).toEqual([true]);
      const [mine, ofAll] = [
        await fetched(await started(user, `${REGISTRY}/a`)),
        await fetched(await started(another, `${REGISTRY}/a`)),
      ].map((reply) => reply.json<{ credentials: object }>().credentials);
      expect(mine).toMatchObject({ password: 'mine', ofAll: false });
      expect(ofAll).toMatchObject({ password: 'common', ofAll: true });
      expect((await remove(admin, common)).status).toBe(200);
    });

    test('H622: registries, names and passwords are checked, and their number is bounded with that of secrets', async () => {
      const user = await newUser();
      const bad = [
        ['registry', 'x'],
        ['https://registry.example.org', 'x'],
        ['registry.example.org/team', 'x'],
        ['ci@registry.example.org', 'x'],
        ['registry.example.org:port', 'x'],
        ['', 'x'],
        [`${'a'.repeat(300)}.org`, 'x'],
        [REGISTRY, ''],
        [REGISTRY, 'a\nb'],
        [REGISTRY, 'x'.repeat(16_385)],
      ] as const;
      for (const [registry, word] of bad) {
        const { status, text } = await set(user, registry, word);
        expect(status, registry).toBe(400);
        if (word.length > 1) expect(text).not.toContain(word);
      }
      for (const username of ['', 'a:b', 'a\0b'])
        expect((await set(user, REGISTRY, 'x', { username })).status, username).toBe(400);
      expect((await set(user, 'https://index.docker.io/v1/', 'x'.repeat(16_384))).status).toBe(200);
      expect((await list(user))[0]?.registry).toBe('docker.io');
      await user.post(`${NATIVE}/secret`, { name: 'ONE', value: 'x' });
      await set(user, 'ghcr.io', 'x');
      const beyond = await set(user, 'quay.io', 'x');
      expect([beyond.status, beyond.text]).toEqual([
        409,
        expect.stringContaining('BERTH_LIMITS.secretsPerUser'),
      ]);
      expect((await set(user, 'ghcr.io', 'again')).status).toBe(200);
    });

    test('P232, H623: only the host of the service gets the credentials, and nobody sees them elsewhere', async () => {
      const user = await newUser();
      const word = `s3cret-${randomBytes(8).toString('hex')}`;
      const username = `robot-${randomBytes(8).toString('hex')}`;
      await set(user, REGISTRY, word, { username });
      const assignment = await started(user, `${REGISTRY}/team/app:1`);
      const reply = await fetched(assignment);
      expect([reply.status, reply.headers['cache-control']]).toEqual([200, 'no-store']);
      expect(reply.json()).toEqual({
        credentials: {
          id: assignment.credentials,
          registry: REGISTRY,
          username,
          password: word,
          ofAll: false,
        },
      });
      const { service: id, generation } = assignment;
      const others = [
        await fetched(assignment, { from: 'other' }),
        await fetched({ service: id, generation: generation + 1 }),
        await fetched({ service: id + 1_000, generation }),
        await fetched(assignment, { aud: host().deployment }),
        await fetched(assignment, { aud: secretsAudience(host().deployment) }),
        await user.get(`${CREDENTIALS_PATH}?service=${id}&generation=${generation}`),
      ];
      expect(others.map(({ status }) => status)).toEqual([404, 404, 404, 401, 401, 401]);
      const seen = [
        ...others,
        await user.get(`${NATIVE}/execution/${assignment.execution}`),
        await user.get(`${NATIVE}/service/${id}`),
        await user.get(`${NATIVE}/registry`),
        await admin.get(`${NATIVE}/audit`),
      ].map(({ text }) => text);
      const db = await host().openDb();
      for (const { name } of await db.query("SELECT name FROM sqlite_master WHERE type = 'table'"))
        seen.push(JSON.stringify(await db.query(`SELECT * FROM "${name}"`)));
      await db.close();
      seen.push(JSON.stringify(agent.messages), host().output());
      for (const text of [word, username, Buffer.from(word).toString('base64')])
        expect(seen.join().includes(text)).toBe(false);
    });

    test('H624: credentials are for exactly one host, however the image is written', async () => {
      const user = await newUser();
      await set(user, 'registry.example.org', 'x');
      await set(user, 'docker.io', 'x');
      const [own = {}, hub = {}] = await list(user);
      const cases: [image: string, of: Record<string, unknown> | undefined][] = [
        ['registry.example.org/a', own],
        [`REGISTRY.example.org/a@sha256:${'0'.repeat(64)}`, own],
        ['registry.example.org:5000/a', undefined],
        ['registry.example.org:443/a', undefined],
        ['registry.example.org.evil.test/a', undefined],
        ['evil.test/registry.example.org/a', undefined],
        ['registry.example.or/a', undefined],
        ['docker.io.evil.test/a', undefined],
        ['nginx', hub],
        ['index.docker.io/library/nginx', hub],
        ['team/app:1', hub],
        ['localhost/app', undefined],
      ];
      for (const [image, of] of cases) {
        const { credentials } = await started(user, image);
        expect(credentials?.split('.')[0], image).toBe(of && `${of.id}`);
      }
    });

    test('P234: a start has the credentials of its time, and later ones count from the next start on', async () => {
      const user = await newUser();
      const id = idIn(await set(user, REGISTRY, 'first'));
      const [one] = [await started(user, `${REGISTRY}/a`)];
      await set(user, REGISTRY, 'second');
      const reply = await fetched(one);
      expect(reply.json()).toMatchObject({ credentials: { password: 'second' } });
      expect(reply.json<{ credentials: { id: string } }>().credentials.id).not.toBe(one.credentials);
      await remove(user, id);
      expect((await fetched(one)).json()).toEqual({ credentials: null });
      expect((await started(user, `${REGISTRY}/a`)).credentials).toBeUndefined();
    });

    test('C296: the credentials of a deleted user are deleted', async () => {
      const user = await newUser();
      const id = idIn(await set(user, REGISTRY, 'x'));
      const found = (await admin.get(`${NATIVE}/user?username=puller${users}`)).json();
      expect((await admin.send('DELETE', `${NATIVE}/user/${Object.keys(found)[0]}`)).status).toBe(200);
      const db = await host().openDb();
      const rows = await db.query('SELECT 1 FROM user_secrets WHERE id = ?', [id]);
      await db.close();
      expect(rows).toEqual([]);
    });

    test('W190: the page sets, lists and removes credentials, and never shows a password', async () => {
      const name = `puller${++users}`;
      await addUser(host(), name, PASSWORD, 'user');
      const page = await WebClient.logIn(host, name, PASSWORD);
      const typed = (registry: string) => ({
        ...{ registry_name: registry, registry_user: 'ci', registry_password: 'not for the page' },
      });
      const wrong = await page.post('/account/secrets/registry', typed('<i>'));
      expect([wrong.status, wrong.text.includes('registry_name-problem')]).toEqual([400, true]);
      expect(wrong.text).not.toContain('not for the page');
      const listed = await page.act('/account/secrets/registry', typed(REGISTRY));
      expect(listed.text).toContain(`Remove the credentials for ${REGISTRY}`);
      expect(listed.text).not.toContain('not for the page');
      const forAll = { ...typed(REGISTRY), registry_all: 'on' };
      expect((await page.post('/account/secrets/registry', forAll)).status).toBe(403);
      const [one] = await list(as(name));
      const removed = await page.act(`/account/secrets/registry/${one?.id}/remove`);
      expect(removed.text).toContain('The credentials were removed.');
      expect(await list(as(name))).toEqual([]);
    });
  },
  SETTINGS,
);
