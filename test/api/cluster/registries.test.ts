/** Credentials of registries: one control plane of each host, with an agent that fetches them, serves all. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { CREDENTIALS_PATH, credentialsAudience, secretsAudience } from '../../../shared/protocol/secrets.ts';
import { expectAnswer, type HttpClient, NATIVE, type Reply } from '../../support/clients/http-client.ts';
import { WebClient } from '../../support/clients/web-client.ts';
import { onEach, onHostsWith, queryRows } from '../../support/hosts/hosts.ts';
import { fetchingHost } from '../../support/rigs/fetching-host.ts';

const REGISTRY = 'registry.example.org:5000';
const LIMIT = 3;
const SETTINGS = {
  BERTH_SECRET_KEYS: randomBytes(32).toString('base64'),
  BERTH_LIMITS: JSON.stringify({ secretsPerUser: LIMIT }),
};

onHostsWith(SETTINGS, onEach('A', 'B'), (host) => {
  const rig = fetchingHost(host, { path: CREDENTIALS_PATH, audience: credentialsAudience });
  const { anonymous, admin, newUser, fetched } = rig;
  const login = (word: string) => ({ username: 'ci', password: word });
  const set = (client: HttpClient, registry: string, word: string, fields: object = {}) =>
    client.post(`${NATIVE}/registry`, { registry, ...login(word), ...fields });
  const list = async (client: HttpClient) =>
    Object.values((await client.get(`${NATIVE}/registry`)).json<Record<string, Record<string, unknown>>>());
  const remove = (client: HttpClient, id: unknown) => client.delete(`${NATIVE}/registry/${id}`);
  const idIn = (reply: Reply) => reply.json<{ registry_id: number }>().registry_id;
  const started = (client: HttpClient, image: string) => rig.started(client, { image });

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
    const used = async (by: HttpClient) =>
      (await fetched(await started(by, `${REGISTRY}/a`))).json<{ credentials: object }>().credentials;
    expect(await used(user)).toMatchObject({ password: 'mine', ofAll: false });
    expect(await used(another)).toMatchObject({ password: 'common', ofAll: true });
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
    await expectAnswer(set(user, 'quay.io', 'x'), 409, 'BERTH_LIMITS.secretsPerUser');
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
    const { credentials: credentialsId } = assignment;
    expect(reply.json()).toEqual({
      credentials: { id: credentialsId, registry: REGISTRY, username, password: word, ofAll: false },
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
    const seen = [...others.map(({ text }) => text), await rig.everythingSeen(user, assignment)].join();
    for (const text of [word, username, Buffer.from(word).toString('base64')])
      expect(seen.includes(text)).toBe(false);
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
    const one = await started(user, `${REGISTRY}/a`);
    await set(user, REGISTRY, 'second');
    const reply = await fetched(one);
    expect(reply.json()).toMatchObject({ credentials: { password: 'second' } });
    expect(reply.json<{ credentials: { id: string } }>().credentials.id).not.toBe(one.credentials);
    await remove(user, id);
    expect((await fetched(one)).json()).toEqual({ credentials: null });
    expect((await started(user, `${REGISTRY}/a`)).credentials).toBeUndefined();
  });

  test('C296: the credentials of a deleted user are deleted', async () => {
    const id = idIn(await set(await newUser(), REGISTRY, 'x'));
    await rig.deleteLastUser();
    expect(await queryRows(host(), 'SELECT 1 FROM user_secrets WHERE id = ?', [id])).toEqual([]);
  });

  test('W190: the page sets, lists and removes credentials, and never shows a password', async () => {
    const user = await newUser();
    const page = await WebClient.logIn(host, rig.lastUser(), 'secret words');
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
    const [one] = await list(user);
    const removed = await page.act(`/account/secrets/registry/${one?.id}/remove`);
    expect(removed.text).toContain('The credentials were removed.');
    expect(await list(user)).toEqual([]);
  });
});
