import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { backoffMs } from '../../../agent/backoff.ts';
import { type Config, ConfigError, type Machine, readConfig } from '../../../agent/config.ts';
import { connectUrl } from '../../../agent/connection/socket.ts';
import { defaultRouteInterface, readMachine } from '../../../agent/host/machine.ts';
import { parseReserve, reservedBytes } from '../../../agent/reserve.ts';

const machine: Machine = {
  hostname: 'node1',
  routedAddress: '10.0.0.5',
  addresses: ['127.0.0.1', '::1', '10.0.0.5', '192.168.1.5', 'fd00::5'],
  hasWholeLoopback: true,
  dockerHost: 'unix:///run/d.sock',
};
const read = (env: NodeJS.ProcessEnv = {}) => readConfig(env, machine);

const withLimits = (limits: object) => ({ BERTH_LIMITS: JSON.stringify(limits) });
const range = (first: number, bits: number) => ({ first, bits });

test('every setting has a default, also an empty one', () => {
  expect(read({ BERTH_AGENT_NAME: '', BERTH_DEPLOYMENT_NAME: '' })).toEqual(read());
  expect(read()).toMatchObject({
    urls: [new URL('http://127.0.0.1:5001')],
    deployment: 'local',
    dockerHost: 'unix:///run/d.sock',
    name: 'node1',
    isNameGiven: false,
    joinToken: undefined,
    labels: [],
    reserve: { memoryBytes: null, cores: 0 },
    volumeRoots: [],
    workspaceRoot: null,
    network: null,
    networks: [],
    registries: ['public'],
    logDays: 30,
    logMaxBytes: 2 ** 30,
    maxCopies: 16,
    copyMaxBytes: 100 * 2 ** 30,
    keepImagesDays: 14,
    minDiskBytes: 2 ** 30,
    criticalDiskBytes: 2 ** 29,
    dataDir: '.berth/agent',
    etcFiles: 'read-only',
    runAs: 'image',
    capabilities: [],
    subnets: [{ first: 0xc6120000, bits: 15 }],
    firewall: true,
    overlay: true,
  });
  expect(read({ BERTH_DATA_DIR: '/data' }).dataDir).toBe('/data/agent');
});
test('P106: the default address is that of the default route; ports listen there if it is of this machine, else on all', () => {
  const BERTH_URL = 'https://berth.example';
  const at = (env: NodeJS.ProcessEnv) => read({ BERTH_URL, ...env });
  expect(at({})).toMatchObject({ address: '10.0.0.5', bind: '10.0.0.5' });
  for (const own of ['192.168.1.5', 'FD00:0:0::5']) expect(at({ BERTH_AGENT_ADDRESS: own }).bind).toBe(own);
  for (const elsewhere of ['203.0.113.9', 'node1.example'])
    expect(at({ BERTH_AGENT_ADDRESS: elsewhere })).toMatchObject({ address: elsewhere, bind: null });
  expect(at({ DOCKER_HOST: 'tcp://10.0.0.9:2375' }).bind).toBeNull();
});
test.each([
  ['http://localhost:5001', '127.0.0.2'],
  ['http://127.0.0.1:5001', '127.0.0.2'],
  ['https://[::1]:5001', '127.0.0.2'],
  ['http://127.0.0.2:5001', '127.0.0.3'],
  ['http://127.0.0.3:5001,http://127.0.0.2:5001', '127.0.0.4'],
])('P106, P317: behind a control plane at %s ports listen at another address, %s', (BERTH_URL, address) => {
  expect(read({ BERTH_URL })).toMatchObject({ address, bind: address });
});
test('P106: ports listen at 127.0.0.1 where loopback has no other address, unless one is added', () => {
  const env = { BERTH_URL: 'http://localhost:5001' };
  const mac = { ...machine, hasWholeLoopback: false };
  const at = { address: '127.0.0.1', bind: '127.0.0.1' };
  expect(readConfig(env, mac)).toMatchObject(at);
  const added = { ...mac, addresses: [...mac.addresses, '127.0.0.2'] };
  expect(readConfig(env, added)).toMatchObject({ address: '127.0.0.2', bind: '127.0.0.2' });
  const given = { address: '127.0.0.9', bind: '127.0.0.9' };
  expect(read({ ...env, BERTH_AGENT_ADDRESS: '127.0.0.9' })).toMatchObject(given);
  // Nothing is known of the loopback of an engine on another machine.
  const DOCKER_HOST = 'tcp://127.0.0.1:2375';
  expect(read({ ...env, DOCKER_HOST })).toMatchObject({ address: '127.0.0.1', bind: null });
});
test('P106: the address to listen on can be set, and is advertised unless another is set, which must be reachable', () => {
  const env = { BERTH_URL: 'https://berth.example', BERTH_AGENT_BIND: '192.168.1.5' };
  for (const [changes, address, bind] of [
    [{}, '192.168.1.5', '192.168.1.5'],
    [{ BERTH_AGENT_ADDRESS: 'node1.example' }, 'node1.example', '192.168.1.5'],
    [{ BERTH_AGENT_BIND: '0.0.0.0' }, '10.0.0.5', '0.0.0.0'],
    [{ BERTH_AGENT_BIND: '::' }, '10.0.0.5', null],
    [{ BERTH_AGENT_BIND: '0:0::' }, '10.0.0.5', null],
  ] as const)
    expect(read({ ...env, ...changes })).toMatchObject({ address, bind });
  expect(problemsOf({ BERTH_AGENT_BIND: '10.0.0.5', BERTH_AGENT_ADDRESS: '192.168.1.5' })).toMatch(
    /BERTH_AGENT_ADDRESS 192\.168\.1\.5 is an address of this machine on which no published port listens/,
  );
});
test.each<[setting: string, field: keyof Config, ...meanings: [text: string, meaning: unknown][]]>([
  ['LABELS', 'labels', ['gpu, ssd,', ['gpu', 'ssd']]],
  ['WITHOUT', 'etcFiles', ['read-only-etc', 'writable'], ['firewall, overlay', 'read-only']],
  ['RUN_AS', 'runAs', ['fs_uid', 'fs_uid']],
  ['CAPABILITIES', 'capabilities', ['NET_RAW, cap_sys_chroot,NET_RAW', ['NET_RAW', 'SYS_CHROOT']]],
  ['REGISTRIES', 'registries', ['docker.io, R.e:5000,[fd00::1]:5', ['docker.io', 'r.e:5000', '[fd00::1]:5']]],
  ['SUBNETS', 'subnets', ['10.1.0.0/16, 10.3.0.0/22', [range(0x0a010000, 16), range(0x0a030000, 22)]]],
  ['WITHOUT', 'firewall', ['firewall, overlay', false], ['overlay', true]],
  ['WITHOUT', 'overlay', ['firewall, overlay', false], ['firewall', true]],
  ['NETWORK', 'network', ['overlay1', 'overlay1']],
])('C111, P92, P97, P98, P107, P110, P139, P155: the setting %s sets %s', (setting, field, ...meanings) => {
  for (const [text, meaning] of meanings)
    expect([text, read({ [`BERTH_AGENT_${setting}`]: text })[field]]).toEqual([text, meaning]);
});
test.each([
  [
    'WITHOUT',
    'must be a list of encryption, firewall, overlay, read-only-etc, updates, which off is not',
    'firewall,off',
  ],
  ['RUN_AS', 'must be image or fs_uid', 'root'],
  ['CAPABILITIES', 'must be Linux capabilities, which ', 'ALL', 'CAP_ALL', 'NET_RAW,NONSENSE', 'toString'],
  ['CAPABILITIES', 'must be Linux capabilities, which NONSENSE is not', 'NET_RAW,NONSENSE'],
  ['REGISTRIES', 'must be a list', 'https://reg.example', 'reg.example/path', ','],
  ['SUBNETS', 'must be IPv4 ranges', '10.1.0.1/16', '10.1.0.0/23', 'fd00::/64', ','],
  ['NETWORK', 'must be', 'host', 'none', 'bridge', 'ingress', 'container:x'],
  ['BIND', 'must be an IP address', 'node1.example', '10.0.0', '10.0.0.5:80'],
])('C111, P92, P97, P98, P106, P107, P110, P139: the setting %s %s', (setting, message, ...texts) => {
  for (const text of texts)
    expect(problemsOf({ [`BERTH_AGENT_${setting}`]: text })).toContain(`BERTH_AGENT_${setting} ${message}`);
});
test.each<[limit: string, field: keyof Config, ...meanings: [given: unknown, meaning: unknown][]]>([
  ['logBytes', 'logMaxBytes', ['256MiB', 2 ** 28]],
  ['copies', 'maxCopies', [3, 3]],
  ['copyBytes', 'copyMaxBytes', ['2GiB', 2 ** 31]],
  ['minDiskBytes', 'minDiskBytes', ['0', 0], ['1000', 1000], ['2.5GiB', 2.5 * 2 ** 30], ['1TiB', 2 ** 40]],
  ['minDiskBytes', 'criticalDiskBytes', ['256MiB', 2 ** 28], ['0', 0]],
  ['criticalDiskBytes', 'criticalDiskBytes', ['100MiB', 100 * 2 ** 20], ['0', 0]],
  ['unusedImageDays', 'keepImagesDays', [0, 0], [0.5, 0.5], [90, 90]],
])('P42, P121, P145, P182, P311, P312: the limit %s sets %s', (limit, field, ...meanings) => {
  for (const [given, meaning] of meanings)
    expect([given, read(withLimits({ [limit]: given }))[field]]).toEqual([given, meaning]);
});
test.each([
  ['logBytes', 'must be a size from 1.0 MiB to', '0', '1023KiB', 'much'],
  ['copies', 'must be at least 1 copies', 0],
  ['copyBytes', 'must be a size from 1.0 MiB to', '0'],
  ['minDiskBytes', 'must be a size from 0 bytes to', '5%', '1GB', '-1', 'much'],
  ['criticalDiskBytes', 'must be a size from 0 bytes to', '1GB'],
  ['unusedImageDays', 'must be', -1, 'a week'],
])('P42, P121, P145, P182, P311, P312: the limit %s %s', (limit, message, ...wrong) => {
  for (const one of wrong)
    expect(problemsOf(withLimits({ [limit]: one }))).toContain(`BERTH_LIMITS.${limit} ${message}`);
});
test('P141: an agent connects to another machine by http only if its settings allow it', () => {
  expect(problemsOf({ BERTH_URL: 'http://192.0.2.1:5001' })).toMatch(
    /BERTH_URL=http:\/\/192\.0\.2\.1:5001\/ is on another machine.*BERTH_AGENT_WITHOUT=encryption/,
  );
  for (const [BERTH_URL, BERTH_AGENT_WITHOUT] of [
    ['http://192.0.2.1:5001', 'encryption'],
    ['https://192.0.2.1', ''],
    ['http://127.0.0.1:5001', ''],
    ['http://[::1]:5001', ''],
    ['http://localhost:5001', ''],
  ] as const)
    expect(read({ BERTH_URL, BERTH_AGENT_WITHOUT }).urls.join()).toContain(BERTH_URL);
});
test('P191: BERTH_URL may list several control planes, and each must be a URL', () => {
  const BERTH_URL = 'https://one.example, https://two.example:5001/berth';
  expect(read({ BERTH_URL }).urls.map(({ href }) => href)).toEqual([
    'https://one.example/',
    'https://two.example:5001/berth',
  ]);
  for (const [text, problem] of [
    ['https://one.example,nonsense', 'BERTH_URL must be a URL like'],
    [',', 'BERTH_URL must be a URL like'],
    [Array(9).fill('https://one.example').join(), 'up to 8 of them'],
    ['https://one.example,http://two.example', 'http://two.example/ is on another machine and not encrypted'],
  ])
    expect(problemsOf({ BERTH_URL: text })).toContain(problem);
});
test('one message names all invalid settings, and never contains the join token', () => {
  const env = { BERTH_URL: 'nonsense', BERTH_AGENT_RESERVE: 'much', BERTH_LIMITS: '{"logDays": -1}' };
  const message = problemsOf({ ...env, BERTH_JOIN_TOKEN: 'secret' });
  for (const name of Object.keys(env)) expect(message).toContain(name);
  expect(message).not.toContain('secret');
});

test('P123: the reserve of a host is memory, cores or both', () => {
  for (const [text, reserve] of [
    ['memory=512MiB,cores=0.5', { memoryBytes: 512 * 2 ** 20, cores: 0.5 }],
    ['cores=1', { memoryBytes: null, cores: 1 }],
    ['memory=1.5GiB', { memoryBytes: 1.5 * 2 ** 30, cores: 0 }],
    ['memory=1000', { memoryBytes: 1000, cores: 0 }],
  ] as const)
    expect(parseReserve(text)).toEqual(reserve);
  for (const text of ['', 'memory', 'memory=1MB', 'cores=1GiB', 'disk=1', 'memory=-1'])
    expect([text, parseReserve(text)]).toEqual([text, undefined]);
});

test('P123: without a setting a host withholds a tenth of its memory, at most 1 GiB, and no cores', () => {
  const { reserve } = read();
  const GIB = 2 ** 30;
  expect([1, 2, 8, 24, 256].map((size) => reservedBytes(reserve, size * GIB) / GIB)).toEqual(
    [0.1, 0.2, 0.8, 1, 1].map((share) => Math.floor(share * GIB) / GIB),
  );
  expect(reserve.cores).toBe(0);
  const set = (text: string) => reservedBytes(read({ BERTH_AGENT_RESERVE: text }).reserve, GIB);
  expect([set('memory=0'), set('memory=1000'), set('cores=1')]).toEqual([0, 1000, Math.floor(GIB / 10)]);
});

test('P72: the wait grows to 10 s, is jittered down to one half, and is spread over the period of the control plane', () => {
  const growing = [0, 1, 2, 5, 6, 60].map((attempt) => backoffMs(attempt, 1, 0));
  expect(growing).toEqual([250, 500, 1000, 8000, 10_000, 10_000]);
  expect(backoffMs(2, 0, 0)).toBe(500);
  expect([0, 0.5, 1].map((random) => backoffMs(0, random, 3_000))).toEqual([125, 1_625, 3_125]);
  expect([0, 0.5, 1].map((random) => backoffMs(1, random, 10_000))).toEqual([250, 5_125, 10_000]);
  expect([0, 0.5, 1].map((random) => backoffMs(60, random, 10_000))).toEqual([5_000, 7_500, 10_000]);
  expect(backoffMs(2, 0.5, 150)).toBe(750);
});

test('the default route is found in the routing table of the kernel', () => {
  const routes = 'Iface\tDestination\tGateway\neth1\t0011AC\t0\neth0\t00000000\t0101A8C0\n';
  expect(defaultRouteInterface(routes)).toBe('eth0');
});

test('the address of this machine is one of IPv4 that others reach, if it has any', () => {
  const all = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  const outward = all.filter(({ family, internal }) => family === 'IPv4' && !internal);
  const found = readMachine();
  expect(found.addresses).toEqual(all.map(({ address }) => address));
  expect([...outward.map(({ address }) => address), undefined]).toContain(found.routedAddress);
  expect(found.routedAddress === undefined).toBe(outward.length === 0);
});

test.each([
  ['http://host:5001', 'ws://host:5001/agent/v1/connect'],
  ['https://host/berth/', 'wss://host/berth/agent/v1/connect'],
])('the URL %s is dialled at %s', (url, expected) => {
  expect(connectUrl(new URL(url))).toBe(expected);
});

function problemsOf(env: NodeJS.ProcessEnv): string {
  try {
    read(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('no error was thrown');
}
