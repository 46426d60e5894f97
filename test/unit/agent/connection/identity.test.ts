import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, connect as dial } from 'node:net';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { joinCluster } from '../../../../agent/agent-process.ts';
import { ConfigError, readConfig } from '../../../../agent/config.ts';
import { HostIdentity } from '../../../../agent/connection/identity.ts';
import { RefusedError } from '../../../../agent/connection/refused-error.ts';
import { stayConnected } from '../../../../agent/connection/socket.ts';
import { isConnect, serveAgents } from '../../../../control-plane/coordinator/runtime/node-sockets.ts';
import { bearerOf } from '../../../../control-plane/http/request.ts';
import { admitAgent, agentRoutes, refuseAgent } from '../../../../control-plane/http/routes/agents.ts';
import { variants } from '../../../../control-plane/http/variants/choose.ts';
import { httpServer } from '../../../../control-plane/node-server.ts';
import { readProof } from '../../../../control-plane/operations/cluster/agent-proof.ts';
import { makeJoinToken } from '../../../../control-plane/operations/cluster/join-tokens.ts';
import { CoordinatorRig } from '../../../support/rigs/coordinator-rig.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

const deploymentName = 'test';
let folder: string;
let rig: CoordinatorRig;
let server: Server;
let url: string;
/** Whether the answers to registrations get lost. */
let lossy = false;
let stop: AbortController;
const log: string[] = [];

beforeEach(async () => {
  folder = await scratchFolder('berth-identity-');
  rig = await CoordinatorRig.open();
  stop = new AbortController();
  log.length = 0;
  lossy = false;
  const context = {
    db: rig.memory,
    deploymentName,
    variant: variants.B,
    nowMs: () => rig.clock.nowMs(),
    // Another one after a restart.
    get coordinator() {
      return rig.coordinator;
    },
  };
  const app = agentRoutes(context, () => {});
  const answer = async (request: Request) => {
    const response = await app.fetch(request);
    if (lossy) server.closeAllConnections();
    return response;
  };
  server = httpServer(answer, { variant: variants.B, isUpgrade: isConnect });
  serveAgents(server, rig.coordinator, {
    admit: (authorization) => admitAgent(deps(), authorization),
    refusal: (error) => refuseAgent(error, () => {}),
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  stop.abort();
  server.close();
  server.closeAllConnections();
  await rig.memory.close();
  await rm(folder, { recursive: true });
});

const deps = () => ({ db: rig.memory, deploymentName, nowMs: () => Date.now() });
const newToken = async (): Promise<string> => (await makeJoinToken(rig.memory, rig.clock.nowMs())).token;

/** As an agent with these settings begins. */
async function open(env: NodeJS.ProcessEnv, nowMs: () => number = Date.now): Promise<HostIdentity> {
  const machine = { hostname: 'node1', routedAddress: undefined, dockerHost: 'unix:///none' };
  const given = { BERTH_URL: url, BERTH_DEPLOYMENT_NAME: 'test', BERTH_AGENT_DATA_DIR: folder, ...env };
  const write = (event: string, fields = {}) => log.push(JSON.stringify({ event, ...fields }));
  return HostIdentity.open(readConfig(given, machine), write, nowMs);
}

/** Tries to connect until it is told not to come back, or `stop`. */
function connect(identity: HostIdentity): Promise<void> {
  const connected = stayConnected({
    url: new URL(url),
    identity,
    begin: () => ({ receive: () => {}, closed: () => {} }),
    log: (event, fields = {}) => log.push(JSON.stringify({ event, ...fields })),
    nowMs: Date.now,
    random: () => 0,
    pingMs: 60_000,
    signal: stop.signal,
  });
  connected.catch(() => {});
  return connected;
}

const journaled = (word: string) => eventually(() => log.some((line) => line.includes(word)));
const provedHost = async (identity: HostIdentity): Promise<number> =>
  (await readProof(deps(), bearerOf((await identity.headers()).Authorization))).hostId;
const hostNames = async () =>
  (await rig.memory.query('SELECT name FROM hosts WHERE public_key IS NOT NULL')).map(({ name }) => name);
const keyFile = () => `${folder}/test/identity/key.json`;

describe('the key', () => {
  test('P17, P21: programs that join the same machine at once make one key and one host, and one that is refused drops no key of another', async () => {
    const token = await newToken();
    const all = await Promise.all([1, 2, 3].map(() => open({ BERTH_JOIN_TOKEN: token })));
    const ids = await Promise.all(all.map((identity) => identity.join()));
    expect(new Set(ids).size).toBe(1);
    expect(await readdir(`${folder}/test/identity`)).toEqual(['key.json']);
    await rm(`${folder}/test`, { recursive: true });
    const refused = await open({ BERTH_JOIN_TOKEN: 'nonsense', BERTH_AGENT_NAME: 'node2' });
    const joined = await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    await refused.discard();
    expect(await provedHost(await open({}))).toBe(joined);
  });
  test('P21: is a file with mode 0600 in a folder with mode 0700, also where that was open', async () => {
    await open({ BERTH_JOIN_TOKEN: 'any' });
    await chmod(`${folder}/test/identity`, 0o755);
    await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    const modes = [await stat(keyFile()), await stat(`${folder}/test/identity`)].map(
      ({ mode }) => mode & 0o777,
    );
    expect(modes).toEqual([0o600, 0o700]);
  });
  test('P21: is refused where others can read it', async () => {
    await open({ BERTH_JOIN_TOKEN: 'any' });
    await chmod(keyFile(), 0o640);
    await expect(open({})).rejects.toThrow(/chmod 600/);
  });
  test('P21: is refused where it is damaged, with a way out', async () => {
    await open({ BERTH_JOIN_TOKEN: 'any' });
    await writeFile(keyFile(), '{"name":"node1"');
    await expect(open({})).rejects.toThrow(/damaged.*join again/);
  });
  test('P21: that is there wins over a token, which stays unused', async () => {
    const hostId = await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    const unused = await newToken();
    const again = await open({ BERTH_JOIN_TOKEN: unused });
    expect([await again.join(), await provedHost(again)]).toEqual([hostId, hostId]);
    expect(await rig.memory.query('SELECT host_id FROM join_tokens WHERE host_id IS NULL')).toHaveLength(1);
  });
  test('P21: missing, and without a token, stops the start with a word on how to get one', async () => {
    await expect(open({})).rejects.toThrow(ConfigError);
    await expect(open({})).rejects.toThrow(/POST host\/token/);
    // Nor is one of use that was never registered.
    await open({ BERTH_JOIN_TOKEN: 'any' });
    await expect(open({})).rejects.toThrow(/POST host\/token/);
  });
});

describe('a registration', () => {
  test('P21: that can not be kept is none: it is made again, and makes the same host', async () => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
    await rm(keyFile());
    await mkdir(keyFile());
    await expect(identity.join()).rejects.toThrow('EISDIR');
    expect(identity.hostId).toBeNull();
    expect(await readdir(`${folder}/test/identity`)).toEqual(['key.json']);
    await rmdir(keyFile());
    expect(await provedHost(identity)).toBe(identity.hostId);
    expect(await hostNames()).toEqual(['node1']);
  });
  test('P21: whose answer got lost leaves its key, also where the next one is refused', async () => {
    const env = {
      BERTH_URL: url,
      BERTH_DEPLOYMENT_NAME: 'test',
      BERTH_AGENT_DATA_DIR: folder,
      BERTH_AGENT_NAME: 'node1',
    };
    lossy = true;
    await expect(joinCluster({ ...env, BERTH_JOIN_TOKEN: await newToken() })).rejects.toThrow(/reached/);
    lossy = false;
    await expect(joinCluster({ ...env, BERTH_JOIN_TOKEN: 'used up' })).rejects.toThrow(RefusedError);
    await joinCluster({ ...env, BERTH_JOIN_TOKEN: await newToken() });
    expect(await hostNames()).toEqual(['node1']);
  });
  test('P21: that is refused at once leaves no key', async () => {
    const env = { BERTH_URL: url, BERTH_DEPLOYMENT_NAME: 'test', BERTH_AGENT_DATA_DIR: folder };
    await expect(joinCluster({ ...env, BERTH_JOIN_TOKEN: 'nobody knows it' })).rejects.toThrow(RefusedError);
    await expect(stat(keyFile())).rejects.toThrow('ENOENT');
  });
});

describe('the name', () => {
  test('P20: that can not be removed keeps nobody from hearing why the agent ends', async () => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
    await rm(keyFile());
    await mkdir(keyFile());
    await identity.discard();
    await journaled('key.removal-failed');
  });
  test('P20: is kept when the machine gets another one', async () => {
    await (await open({ BERTH_JOIN_TOKEN: await newToken(), BERTH_AGENT_NAME: 'first' })).join();
    expect((await open({})).name).toBe('first');
  });
  test('P20: that is set to another one stops the start with a word on what to do', async () => {
    await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    await expect(open({ BERTH_AGENT_NAME: 'second' })).rejects.toThrow(/node1.*BERTH_AGENT_DATA_DIR/);
  });
});

describe('the registration', () => {
  test('P17: whose answer got lost is tried again with the same key, and makes one host', async () => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
    lossy = true;
    await expect(identity.headers()).rejects.toThrow(/cannot be reached.*BERTH_URL/);
    expect(await hostNames()).toEqual(['node1']);
    lossy = false;
    // Also by the next process.
    const next = await open({ BERTH_JOIN_TOKEN: 'used up' });
    expect(next.hostId).toBeNull();
    expect(await provedHost(identity)).toBe(2);
    expect(await hostNames()).toEqual(['node1']);
  });
  test('P17: with a token that is not good ends the agent, which says why', async () => {
    await expect(connect(await open({ BERTH_JOIN_TOKEN: 'nonsense' }))).rejects.toThrow(
      /is unknown or has expired/,
    );
    await expect(connect(await open({ BERTH_JOIN_TOKEN: 'nonsense' }))).rejects.toThrow(RefusedError);
  });
  test('P16: tells the public half of the key alone', async () => {
    await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    const { privateKey } = JSON.parse(await readFile(keyFile(), 'utf8'));
    const [row] = await rig.memory.query('SELECT * FROM hosts WHERE name = ?', ['node1']);
    expect(row?.public_key).toBe(privateKey.x);
    expect(JSON.stringify(row)).not.toContain(privateKey.d);
  });
});

describe('connecting', () => {
  test.each([-3_600, 3_600])(
    'P18: an agent whose clock is %i s off says so, and gets in by the right time',
    async (skewS) => {
      const identity = await open({ BERTH_JOIN_TOKEN: await newToken() }, () => Date.now() + skewS * 1_000);
      connect(identity);
      await journaled('connection.open');
      const told = log.filter((line) => line.includes('clock.differs'));
      expect(told).toEqual([expect.stringMatching(/this machine's clock differs by -?(3599|36\d\d) s/)]);
      expect(log.some((line) => line.includes('answered 401: The proof was made'))).toBe(true);
    },
  );
  test('P20: an agent that was removed gives up, and throws its key away', async () => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
    await identity.join();
    await rig.memory.query(`UPDATE hosts SET removed_ms = 1 WHERE name = 'node1'`);
    await expect(connect(identity)).rejects.toMatchObject({ name: 'RefusedError', revoked: true });
    await identity.discard();
    await expect(open({})).rejects.toThrow(/POST host\/token/);
  });
  test('P20, P21: an agent that another database does not know joins it with its token, by the same key', async () => {
    await (await open({ BERTH_JOIN_TOKEN: await newToken() })).join();
    const key = await readFile(keyFile(), 'utf8');
    await forgetHosts();
    connect(await open({ BERTH_JOIN_TOKEN: await newToken() }));
    await journaled('connection.open');
    expect(await hostNames()).toEqual(['node1']);
    expect(JSON.parse(await readFile(keyFile(), 'utf8')).privateKey).toEqual(JSON.parse(key).privateKey);
  });
  test('P20: without a token it keeps its key and goes on trying, saying what is wrong', async () => {
    const identity = await open({ BERTH_JOIN_TOKEN: await newToken() });
    await identity.join();
    await forgetHosts();
    connect(await open({}));
    await journaled('No host here has this key');
    await eventually(() => log.filter((line) => line.includes('connection.closed')).length > 1);
    expect((await stat(keyFile())).isFile()).toBe(true);
  });
});

/** As after the database was put back to an older copy. */
async function forgetHosts(): Promise<void> {
  await rig.memory.query('DELETE FROM join_tokens');
  await rig.memory.query(`DELETE FROM hosts WHERE name = 'node1'`);
  rig.restart();
}

test('P1, H192: who is refused holds no connection, also where it never closes its own end', async () => {
  const peer = dial({ port: Number(new URL(url).port), host: '127.0.0.1', allowHalfOpen: true });
  peer.resume();
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  peer.write(`GET /agent/v1/connect HTTP/1.1\r\nHost: berth\r\n${upgrade}\r\n`);
  await once(peer, 'end');
  const open = promisify(server.getConnections.bind(server));
  await eventually(async () => (await open()) === 0);
  peer.destroy();
});

test('P1: what was not foreseen is refused without details, which are for the log', async () => {
  const failures: unknown[] = [];
  const response = refuseAgent(new Error('the disk has gone'), (error) => failures.push(error));
  expect([response.status, failures.map(String)]).toEqual([500, ['Error: the disk has gone']]);
  expect(await response.text()).not.toContain('disk');
});
