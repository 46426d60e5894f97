import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, connect as connectTo } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { joinCluster } from '../../../../agent/agent-process.ts';
import { ConfigError, readConfig } from '../../../../agent/config.ts';
import { HostIdentity } from '../../../../agent/connection/identity.ts';
import { RefusedError } from '../../../../agent/connection/refused-error.ts';
import type { Logger } from '../../../../agent/logger.ts';
import { bearerOf } from '../../../../control-plane/http/request.ts';
import { refuseAgent } from '../../../../control-plane/http/routes/agents.ts';
import { HostKeys, readProof } from '../../../../control-plane/operations/cluster/agent-proof.ts';
import { makeJoinToken } from '../../../../control-plane/operations/cluster/join-tokens.ts';
import { machine } from '../../../support/agents/agent-rig.ts';
import { dial } from '../../../support/agents/dial.ts';
import { agentServer } from '../../../support/rigs/agent-server.ts';
import { CoordinatorRig } from '../../../support/rigs/coordinator-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const deploymentName = 'test';
let folder: string;
let rig: CoordinatorRig;
let server: Server;
let url: string;
/** True if the answers to registrations are lost. */
let lossy = false;
const log: string[] = [];
const write: Logger = (event, fields = {}) => log.push(JSON.stringify({ event, ...fields }));

beforeEach(async () => {
  folder = await testFolder();
  rig = await CoordinatorRig.open();
  log.length = 0;
  lossy = false;
  server = await agentServer(rig, deploymentName, (serving) => {
    if (lossy) serving.closeAllConnections();
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
});

const deps = () => ({ db: rig.memory, deploymentName, nowMs: () => Date.now() });
const newToken = async (): Promise<string> => (await makeJoinToken(rig.memory, rig.clock.nowMs())).token;

/** Opens the identity as an agent with these settings does at its start. */
async function open(env: NodeJS.ProcessEnv, nowMs: () => number = Date.now): Promise<HostIdentity> {
  const given = { BERTH_URL: url, BERTH_DEPLOYMENT_NAME: 'test', BERTH_AGENT_DATA_DIR: folder, ...env };
  return HostIdentity.open(readConfig(given, machine), write, nowMs);
}

/** Tries to connect until the control plane refuses the agent, or the test ends. */
const connect = (identity: HostIdentity): Promise<void> =>
  dial([new URL(url)], { identity, log: write }).connected;

/** Joins as an agent with a new token does. */
async function joined(env: NodeJS.ProcessEnv = {}): Promise<HostIdentity> {
  const identity = await open({ BERTH_JOIN_TOKEN: await newToken(), ...env });
  await identity.join();
  return identity;
}

const logged = (word: string) => eventually(() => log.some((line) => line.includes(word)));
const provedHost = async (identity: HostIdentity): Promise<number> =>
  (await readProof(deps(), bearerOf((await identity.headers()).Authorization))).hostId;
const hostNames = async () =>
  (await rig.memory.query('SELECT name FROM hosts WHERE public_key IS NOT NULL')).map(({ name }) => name);
const keyFile = () => `${folder}/test/identity/key.json`;

test('P318: an agent with another engine than before ends, and its message names both and the remedy, unless it is accepted', async () => {
  await (await joined()).keepEngine('one@/var/lib/docker');
  await (await open({})).keepEngine('one@/var/lib/docker');
  const refused = (await open({})).keepEngine('two@/var/lib/docker');
  await expect(refused).rejects.toThrow(ConfigError);
  await expect(refused).rejects.toThrow(
    /engine one@\/var\/lib\/docker.*engine two@\/var\/lib\/docker.*BERTH_AGENT_ENGINE=two@\/var\/lib\/docker/,
  );
  // Neither the refusal nor the acceptance of a third one changes what is kept.
  const third = (await open({ BERTH_AGENT_ENGINE: 'three' })).keepEngine('two@/var/lib/docker');
  await expect(third).rejects.toThrow(ConfigError);
  await (await open({})).keepEngine('one@/var/lib/docker');
  await (await open({ BERTH_AGENT_ENGINE: 'two' })).keepEngine('two');
  await logged('engine.accepted');
  await (await open({})).keepEngine('two');
  await expect((await open({})).keepEngine('one@/var/lib/docker')).rejects.toThrow(ConfigError);
});

test('P17, P21: programs that join the same machine at once create one key and one host, and a refused program removes no other key', async () => {
  const token = await newToken();
  const all = await Promise.all([1, 2, 3].map(() => open({ BERTH_JOIN_TOKEN: token })));
  const ids = await Promise.all(all.map((identity) => identity.join()));
  expect(new Set(ids).size).toBe(1);
  expect(await readdir(`${folder}/test/identity`)).toEqual(['key.json']);
  await rm(`${folder}/test`, { recursive: true });
  const refused = await open({ BERTH_JOIN_TOKEN: 'nonsense', BERTH_AGENT_NAME: 'node2' });
  const { hostId } = await joined();
  await refused.discard();
  expect(await provedHost(await open({}))).toBe(hostId);
});
test('P21: the key is a file with mode 0600 in a folder with mode 0700, even if the folder was open before; others are refused', async () => {
  await open({ BERTH_JOIN_TOKEN: 'any' });
  await chmod(`${folder}/test/identity`, 0o755);
  await joined();
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;
  expect([await modeOf(keyFile()), await modeOf(`${folder}/test/identity`)]).toEqual([0o600, 0o700]);
  await chmod(keyFile(), 0o640);
  await expect(open({})).rejects.toThrow(/chmod 600/);
  await chmod(keyFile(), 0o600);
  await writeFile(keyFile(), '{"name":"node1"');
  await expect(open({})).rejects.toThrow(/damaged.*join again/);
});
test('P21: an existing key takes precedence over a token, which stays unused', async () => {
  const { hostId } = await joined();
  const unused = await newToken();
  const again = await open({ BERTH_JOIN_TOKEN: unused });
  expect([await again.join(), await provedHost(again)]).toEqual([hostId, hostId]);
  expect(await rig.memory.query('SELECT host_id FROM join_tokens WHERE host_id IS NULL')).toHaveLength(1);
});
test('P21: a missing key without a token stops the start, and the message names the remedy', async () => {
  await expect(open({})).rejects.toThrow(ConfigError);
  await expect(open({})).rejects.toThrow(/POST host\/token/);
  // An unregistered key is useless as well.
  await open({ BERTH_JOIN_TOKEN: 'any' });
  await expect(open({})).rejects.toThrow(/POST host\/token/);
});

test('P20, P21: a registration whose host id cannot be stored is repeated, and a key that cannot be removed hides no reason', async () => {
  const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
  await rm(keyFile());
  await mkdir(keyFile());
  await expect(identity.join()).rejects.toThrow('EISDIR');
  expect(identity.hostId).toBeNull();
  expect(await readdir(`${folder}/test/identity`)).toEqual(['key.json']);
  await identity.discard();
  await logged('key.removal-failed');
  await rmdir(keyFile());
  expect(await provedHost(identity)).toBe(identity.hostId);
  expect(await hostNames()).toEqual(['node1']);
});
test('P21: a registration that is refused at once leaves no key, and one whose answer was lost leaves it, even if the next is refused', async () => {
  const env = { BERTH_URL: url, BERTH_DEPLOYMENT_NAME: 'test', BERTH_AGENT_DATA_DIR: folder };
  const join = (token: string) => joinCluster({ ...env, BERTH_AGENT_NAME: 'node1', BERTH_JOIN_TOKEN: token });
  await expect(join('nobody knows it')).rejects.toThrow(RefusedError);
  await expect(stat(keyFile())).rejects.toThrow('ENOENT');
  lossy = true;
  await expect(join(await newToken())).rejects.toThrow(/reached/);
  lossy = false;
  await expect(join('used up')).rejects.toThrow(RefusedError);
  await join(await newToken());
  expect(await hostNames()).toEqual(['node1']);
});
test('P20: a host keeps its name when the machine is renamed, and a different one in the settings stops the start', async () => {
  await joined({ BERTH_AGENT_NAME: 'first' });
  expect((await open({})).name).toBe('first');
  await expect(open({ BERTH_AGENT_NAME: 'second' })).rejects.toThrow(/first.*BERTH_AGENT_DATA_DIR/);
});
test('P17: a registration whose answer was lost is retried with the same key, and creates one host', async () => {
  const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
  lossy = true;
  await expect(identity.headers()).rejects.toThrow(/cannot be reached.*BERTH_URL/);
  expect(await hostNames()).toEqual(['node1']);
  lossy = false;
  // The next process succeeds as well.
  const next = await open({ BERTH_JOIN_TOKEN: 'used up' });
  expect(next.hostId).toBeNull();
  expect(await provedHost(identity)).toBe(2);
  expect(await hostNames()).toEqual(['node1']);
});
test('P17: a registration with an invalid token ends the agent with the reason', async () => {
  const refused = connect(await open({ BERTH_JOIN_TOKEN: 'nonsense' }));
  await expect(refused).rejects.toThrow(/is unknown or has expired/);
  await expect(refused).rejects.toThrow(RefusedError);
});
test('P16: the registration sends only the public half of the key', async () => {
  await joined();
  const { privateKey } = JSON.parse(await readFile(keyFile(), 'utf8'));
  const [row] = await rig.memory.query('SELECT * FROM hosts WHERE name = ?', ['node1']);
  expect(row?.public_key).toBe(privateKey.x);
  expect(JSON.stringify(row)).not.toContain(privateKey.d);
});

test.each([-3_600, 3_600])(
  'P18: an agent whose clock is %i s off logs it, and connects by the right time',
  async (skewS) => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() }, () => Date.now() + skewS * 1_000);
    connect(identity);
    await logged('connection.open');
    const differences = log.filter((line) => line.includes('clock.differs'));
    expect(differences).toEqual([expect.stringMatching(/this machine's clock differs by -?(3599|36\d\d) s/)]);
    expect(log.some((line) => line.includes('answered 401: The proof was made'))).toBe(true);
  },
);
test('P20: an agent whose host was removed gives up and deletes its key', async () => {
  const identity = await joined();
  await rig.memory.query(`UPDATE hosts SET removed_ms = ? WHERE name = 'node1'`, [Date.now()]);
  await expect(connect(identity)).rejects.toMatchObject({ name: 'RefusedError', revoked: true });
  await identity.discard();
  await expect(open({})).rejects.toThrow(/POST host\/token/);
});
test('P20, P21: an agent that is unknown to another database joins it with its token and the same key', async () => {
  await joined();
  const key = await readFile(keyFile(), 'utf8');
  await forgetHosts();
  connect(await open({ BERTH_JOIN_TOKEN: await newToken() }));
  await logged('connection.open');
  expect(await hostNames()).toEqual(['node1']);
  expect(JSON.parse(await readFile(keyFile(), 'utf8')).privateKey).toEqual(JSON.parse(key).privateKey);
});
test('P20: an unknown agent without a token keeps its key, logs the reason and retries', async () => {
  await joined();
  await forgetHosts();
  connect(await open({}));
  await logged('No host here has this key');
  await eventually(() => log.filter((line) => line.includes('connection.closed')).length > 1);
  expect((await stat(keyFile())).isFile()).toBe(true);
});

/** As after the database was replaced by an older copy. */
async function forgetHosts(): Promise<void> {
  await rig.memory.query('DELETE FROM join_tokens');
  await rig.memory.query(`DELETE FROM hosts WHERE name = 'node1'`);
  rig.restart();
}

test('P1, H192: a refused client occupies no connection, even if it never closes its own end', async () => {
  const peer = connectTo({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  peer.resume();
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  peer.write(`GET /agent/v1/connect HTTP/1.1\r\nHost: berth\r\n${upgrade}\r\n`);
  await once(peer, 'end');
  const open = promisify(server.getConnections.bind(server));
  await eventually(async () => (await open()) === 0);
  peer.destroy();
});

test('P1: an unexpected failure is answered without details, which only the log has', async () => {
  const failures: unknown[] = [];
  const response = refuseAgent(new Error('the disk has gone'), (error) => failures.push(error));
  expect([response.status, failures.map(String)]).toEqual([500, ['Error: the disk has gone']]);
  expect(await response.text()).not.toContain('disk');
});

test('C231: a proof is verified with the remembered key, and with that of the database if the remembered one does not fit', async () => {
  const identity = await joined();
  const hostId = Number(identity.hostId);
  const keys = new HostKeys();
  const proved = async () =>
    readProof({ ...deps(), keys }, bearerOf((await identity.headers()).Authorization));
  expect((await proved()).rememberedKey).toBeUndefined();
  const key = keys.of(hostId);
  expect(await proved()).toMatchObject({ hostId, rememberedKey: key });
  keys.remember(hostId, 'A'.repeat(43));
  expect((await proved()).rememberedKey).toBeUndefined();
  expect(keys.of(hostId)).toBe(key);
});

test('C231: the keys of 10,000 hosts are remembered, the latest ones', () => {
  const keys = new HostKeys();
  for (let hostId = 1; hostId <= 10_001; hostId++) keys.remember(hostId, 'key');
  expect([keys.of(1), keys.of(2), keys.of(10_001)]).toEqual([undefined, 'key', 'key']);
});
