import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import {
  type AgentKey,
  askToRegister,
  type Claims,
  newAgentKey,
  proofOf,
  refusalOf,
} from '../../support/agents/enrolment.ts';
import { hello, ScriptedAgent } from '../../support/agents/scripted-agent.ts';
import { ApiClient } from '../../support/clients/api-client.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { eitherGroup, onHosts, queryRows, restart, writeRow } from '../../support/hosts/hosts.ts';
import { startProgram } from '../../support/hosts/process.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

onHosts(eitherGroup, (host) => {
  const api = new ApiClient(host);
  let names = 0;

  const newToken = async (input: object = {}): Promise<string> => {
    const reply = await api.http.post('host/token', input);
    expect(reply.status, reply.text).toBe(200);
    return reply.json<{ token: string }>().token;
  };
  const register = (token: string | undefined, name: string, { publicKey }: AgentKey, deployment = 'test') =>
    askToRegister({ url: host().url() }, token, { deployment, name, publicKey });
  /** A new registered host. */
  const newHost = async (input: object = {}) => {
    const [name, key] = [`enrolled${++names}`, newAgentKey()];
    const response = await register(await newToken(input), name, key);
    expect(response.status).toBe(200);
    return { name, key, id: ((await response.json()) as { host_id: number }).host_id };
  };
  const knock = (authorization: string) => refusalOf(host().url(), authorization);
  const dial = (authorization: string) => ScriptedAgent.dial(host(), authorization);

  const synced = (agent: ScriptedAgent) => eventually(() => agent.all('sync').length > 0);

  test('H220: a join token lasts an hour, and only its hash is stored', async () => {
    const beforeS = Date.now() / 1_000;
    const reply = await api.http.post('host/token', { name: 'db1', labels: ['gpu', 'ssd'] });
    expect(reply.status, reply.text).toBe(200);
    const { token, expires_at } = reply.json<{ token: string; expires_at: number }>();
    expect(expires_at).toBeGreaterThanOrEqual(beforeS + 3_599);
    expect(expires_at).toBeLessThanOrEqual(Date.now() / 1_000 + 3_601);
    const rows = await queryRows(host(), "SELECT * FROM join_tokens WHERE name = 'db1'");
    expect(rows).toMatchObject([{ name: 'db1', labels: '["gpu","ssd"]', host_id: null }]);
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test('H220: a request for a token with a wrong field is 400', async () => {
    const names = ['', 'a b', 'x'.repeat(129), 7].map((name) => ({ name }));
    const many = Array.from({ length: 51 }, (_, n) => `l${n}`);
    const labels = ['gpu', ['a,b'], [''], many].map((all) => ({ labels: all }));
    for (const body of [...names, ...labels, { expires_at: 1 }, 'text'])
      expect((await api.http.post('host/token', body)).status, JSON.stringify(body)).toBe(400);
  });

  test('H220: an expired token is removed when the next one is created', async () => {
    await newToken({ name: 'expired' });
    await writeRow(host(), `UPDATE join_tokens SET expires_ms = 1 WHERE name = 'expired'`, []);
    await newToken();
    expect(await queryRows(host(), "SELECT hash FROM join_tokens WHERE name = 'expired'")).toEqual([]);
  });

  test('H220: labels of the token are added to those of the agent', async () => {
    const label = `tokens-label-${++names}`;
    const { id, key, name } = await newHost({ labels: [label] });
    const agent = await dial(proofOf(id, 'test', key));
    agent.send(hello(host(), { facts: { name, labels: ['own'] } }));
    const execution = await api.submit(application(service({ labels: [label, 'own'] })));
    expect(await agent.assigned(execution)).toHaveLength(1);
    await agent.close();
  });

  test('P17: a used token creates no other host, even after a restart, and returns the same answer to its own agent', async () => {
    const token = await newToken();
    const [key, thief] = [newAgentKey(), newAgentKey()];
    const name = `enrolled${++names}`;
    const first = await (await register(token, name, key)).json();
    for (const later of [false, true]) {
      if (later) await restart(host());
      const stolen = await register(token, `${name}-stolen`, thief);
      expect(stolen.status).toBe(401);
      expect(await stolen.json()).toMatchObject({ message: expect.stringContaining('has been used') });
      expect((await register(token, name, thief)).status).toBe(401);
      const again = await register(token, name, key);
      expect([again.status, await again.json()]).toEqual([200, first]);
    }
  });

  test('P17: an expired, an unknown and a missing token are 401, and the message states how to get one', async () => {
    const token = await newToken({ name: 'late' });
    await writeRow(host(), `UPDATE join_tokens SET expires_ms = 1 WHERE name = 'late'`, []);
    for (const one of [token, 'unknown', undefined]) {
      const response = await register(one, 'late', newAgentKey());
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toContain('Bearer');
      expect(await response.json()).toMatchObject({ message: expect.stringContaining('oken') });
    }
  });

  test('P16: a taken name, another deployment and a wrong name are refused without using up the token', async () => {
    const { name } = await newHost();
    const mine = `enrolled${++names}`;
    const [token, key] = [await newToken({ name: mine }), newAgentKey()];
    const open = await newToken();
    const refusals = [
      await register(token, mine, key, 'another'),
      await register(token, `${mine}-not`, key),
      await register(open, name, key),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([409, 403, 409]);
    const messages = (await Promise.all(refusals.map((one) => one.json()))) as { message: string }[];
    for (const [nth, setting] of ['DEPLOYMENT_NAME=test', `AGENT_NAME=${mine}`, 'AGENT_NAME'].entries())
      expect(messages[nth]?.message).toContain(`BERTH_${setting}`);
    expect((await register(token, mine, key)).status).toBe(200);
    expect((await register(open, `${mine}-other`, newAgentKey())).status).toBe(200);
  });

  test('P16: without a valid token the answer reveals nothing, not even what is wrong with the body', async () => {
    expect((await register('unknown', 'x', newAgentKey(), 'another')).status).toBe(401);
    const bad = { method: 'POST', headers: { authorization: 'Bearer unknown' }, body: '[]' };
    expect((await fetch(`${host().url()}/agent/v1/register`, bad)).status).toBe(401);
  });

  test('P16: a registration that is not valid is 400', async () => {
    const key = { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) };
    const whole = { deployment: 'test', name: 'x', publicKey: key };
    for (const body of [
      ...['', '[]', '{}'],
      ...[
        { name: '' },
        ...[{}, { ...key, crv: 'X25519' }, { ...key, x: 'short' }].map((publicKey) => ({ publicKey })),
      ].map((changes) => JSON.stringify({ ...whole, ...changes })),
    ]) {
      const headers = { authorization: `Bearer ${await newToken()}` };
      const response = await fetch(`${host().url()}/agent/v1/register`, { method: 'POST', headers, body });
      expect(response.status, body).toBe(400);
    }
  });

  const nowS = () => Math.floor(Date.now() / 1_000);
  test.each<[string, () => Claims, string]>([
    ['that has expired', () => ({ iat: nowS() - 100, exp: nowS() - 40 }), 'clock'],
    ['from the future', () => ({ iat: nowS() + 45, exp: nowS() + 105 }), 'clock'],
    ['with too long a lifetime', () => ({ iat: nowS() - 3_600, exp: nowS() + 3_600 }), 'clock'],
    ['for another deployment', () => ({ aud: 'another' }), 'deployment test'],
    ['without a deployment', () => ({ aud: undefined }), 'deployment test'],
    ['without an id', () => ({ jti: undefined }), 'jti'],
    ['with too long an id', () => ({ jti: 'x'.repeat(65) }), 'jti'],
    ['without an issue time', () => ({ iat: undefined }), 'iat'],
    ['without an expiry time', () => ({ exp: undefined }), 'exp'],
    ['with the host id 0', () => ({ sub: '0' }), 'proof'],
    ['of an unknown host', () => ({ sub: '999999' }), 'No host'],
  ])("P18: a proof %s is 401, with the reason and the control plane's time", async (_, changes, word) => {
    const { id, key } = await newHost();
    const response = await knock(proofOf(id, 'test', key, changes()));
    expect(response.status).toBe(401);
    expect(((await response.json()) as { message: string }).message).toContain(word);
    expect(Math.abs(Date.parse(response.headers.get('date') ?? '') - Date.now())).toBeLessThan(60_000);
  });

  test('P18: clocks may differ by 30 s', async () => {
    const { id, key } = await newHost();
    for (const skewS of [-25, 25]) {
      const iat = nowS() + skewS;
      await (await dial(proofOf(id, 'test', key, { iat, exp: iat + 60 }))).close();
    }
  });

  test("P18, P20: a proof by another host's key and an unsigned proof are 401", async () => {
    const [one, other] = [await newHost(), await newHost()];
    const wrong = await knock(proofOf(one.id, 'test', other.key));
    expect([wrong.status, await wrong.json()]).toMatchObject([401, { reason: 'unknown-host' }]);
    const [, claims] = proofOf(one.id, 'test', one.key).replace('Bearer ', '').split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    expect((await knock(`Bearer ${none}.${claims}.`)).status).toBe(401);
  });

  test('P18, P19: a proof admits once, and its second use does not disturb its host', async () => {
    const { id, key, name } = await newHost();
    const proof = proofOf(id, 'test', key);
    const agent = await dial(proof);
    agent.send(hello(host(), { facts: { name } }));
    await synced(agent);
    await expect(dial(proof)).rejects.toThrow('401');
    await agent.report();
    expect(agent.closeCode).toBeUndefined();
    await agent.close();
    await expect(dial(proof)).rejects.toThrow('401');
  });

  test('P20: the key of a removed host is refused with 403 and `revoked`, and a foreign key with 401 and `unknown-host`', async () => {
    const { id, key, name } = await newHost();
    await writeRow(host(), 'UPDATE hosts SET removed_ms = ? WHERE id = ?', [Date.now(), id]);
    const response = await knock(proofOf(id, 'test', key));
    expect([response.status, await response.json()]).toMatchObject([403, { reason: 'revoked' }]);
    expect((await register(await newToken(), `${name}-again`, key)).status).toBe(403);
    const stranger = await knock(proofOf(id, 'test', newAgentKey()));
    expect([stranger.status, await stranger.json()]).toMatchObject([401, { reason: 'unknown-host' }]);
  });

  test('P16, P21: `agent join` registers this machine as a host, once', async () => {
    const folder = await testFolder();
    const join = (name: string, token: string) => ({
      BERTH_URL: host().url(),
      BERTH_DEPLOYMENT_NAME: 'test',
      BERTH_JOIN_TOKEN: token,
      BERTH_AGENT_NAME: name,
      BERTH_AGENT_DATA_DIR: folder,
    });
    const run = async (name: string, token: string) => {
      const program = startProgram(['agent/main.ts', 'join'], { env: join(name, token) });
      await program.waitForEnd();
      return program;
    };
    const name = `joined${++names}`;
    // Exit code 2: a failure that only a person can fix (H266).
    const proves = async (by: string, token: string, code: number, output: RegExp) => {
      const program = await run(by, token);
      expect([program.ended, program.output]).toEqual([code, expect.stringMatching(output)]);
    };
    await proves(name, await newToken(), 0, /is now host \d+ \(joined\d+\) of deployment test/);
    await proves(name, 'is not needed', 0, /was already host/);
    await proves(`${name}-other`, 'is not needed', 2, /BERTH_AGENT_NAME/);
    await rm(folder, { recursive: true });
    await proves(`${name}-other`, 'nonsense', 2, /POST host\/token/);
  });
});
