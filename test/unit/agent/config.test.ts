import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../../agent/backoff.ts';
import { ConfigError, type Machine, readConfig } from '../../../agent/config.ts';
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

describe('settings', () => {
  test('every setting has a default', () => {
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
    });
  });
  test('an empty setting counts as unset', () => {
    expect(read({ BERTH_AGENT_NAME: '', BERTH_DEPLOYMENT_NAME: '' })).toMatchObject({
      name: 'node1',
      deployment: 'local',
    });
  });
  test('the default address is that of the default route', () => {
    expect(read({ BERTH_URL: 'https://berth.example' }).address).toBe('10.0.0.5');
  });
  test('the address can be set', () => {
    expect(read({ BERTH_AGENT_ADDRESS: 'node1.example' }).address).toBe('node1.example');
  });
  test('P106: ports listen on the advertised address where it is an address of this machine, else on all', () => {
    const BERTH_URL = 'https://berth.example';
    const bindOf = (env: NodeJS.ProcessEnv) => read({ BERTH_URL, ...env }).bind;
    expect(bindOf({})).toBe('10.0.0.5');
    expect(bindOf({ BERTH_AGENT_ADDRESS: '192.168.1.5' })).toBe('192.168.1.5');
    expect(bindOf({ BERTH_AGENT_ADDRESS: 'FD00:0:0::5' })).toBe('FD00:0:0::5');
    for (const elsewhere of ['203.0.113.9', 'node1.example'])
      expect(bindOf({ BERTH_AGENT_ADDRESS: elsewhere })).toBeNull();
    expect(bindOf({ DOCKER_HOST: 'tcp://10.0.0.9:2375' })).toBeNull();
  });
  test.each([
    ['http://localhost:5001', '127.0.0.2'],
    ['http://127.0.0.1:5001', '127.0.0.2'],
    ['https://[::1]:5001', '127.0.0.2'],
    ['http://127.0.0.2:5001', '127.0.0.3'],
    ['http://127.0.0.3:5001,http://127.0.0.2:5001', '127.0.0.4'],
  ])(
    'P106, P317: behind a control plane on loopback (%s) ports listen at another address of it, %s',
    (BERTH_URL, address) => {
      expect(read({ BERTH_URL })).toMatchObject({ address, bind: address });
    },
  );
  test('P106: ports listen at 127.0.0.1 where loopback has no other address, unless one is added', () => {
    const env = { BERTH_URL: 'http://localhost:5001' };
    const mac = { ...machine, hasWholeLoopback: false };
    const at = { address: '127.0.0.1', bind: '127.0.0.1' };
    expect(readConfig(env, mac)).toMatchObject(at);
    const added = { ...mac, addresses: [...mac.addresses, '127.0.0.2'] };
    expect(readConfig(env, added)).toMatchObject({ address: '127.0.0.2', bind: '127.0.0.2' });
    // Nothing is known of the loopback of an engine on another machine.
    const DOCKER_HOST = 'tcp://127.0.0.1:2375';
    expect(read({ ...env, DOCKER_HOST })).toMatchObject({ address: '127.0.0.1', bind: null });
  });
  test('P106: ports listen on the advertised address of loopback alone', () => {
    const env = { BERTH_URL: 'http://localhost:5001', BERTH_AGENT_ADDRESS: '127.0.0.9' };
    expect(read(env)).toMatchObject({ address: '127.0.0.9', bind: '127.0.0.9' });
  });
  test('P106: the address to listen on can be set, and is advertised unless another is set', () => {
    const env = { BERTH_URL: 'https://berth.example', BERTH_AGENT_BIND: '192.168.1.5' };
    expect(read(env)).toMatchObject({ address: '192.168.1.5', bind: '192.168.1.5' });
    expect(read({ ...env, BERTH_AGENT_ADDRESS: 'node1.example' })).toMatchObject({
      address: 'node1.example',
      bind: '192.168.1.5',
    });
    expect(read({ ...env, BERTH_AGENT_BIND: '0.0.0.0' })).toMatchObject({
      address: '10.0.0.5',
      bind: '0.0.0.0',
    });
    for (const all of ['::', '0:0::'])
      expect(read({ ...env, BERTH_AGENT_BIND: all })).toMatchObject({ address: '10.0.0.5', bind: null });
  });
  test('P106: an address to listen on is refused if it is not one, or if the advertised one could not be reached', () => {
    for (const bind of ['node1.example', '10.0.0', '10.0.0.5:80'])
      expect(problemsOf({ BERTH_AGENT_BIND: bind })).toContain('BERTH_AGENT_BIND must be an IP address');
    expect(problemsOf({ BERTH_AGENT_BIND: '10.0.0.5', BERTH_AGENT_ADDRESS: '192.168.1.5' })).toMatch(
      /BERTH_AGENT_ADDRESS 192\.168\.1\.5 is an address of this machine on which no published port listens/,
    );
  });
  test('P311, P312: the bounds of copies can be set, but not to nothing', () => {
    const set = read(withLimits({ copies: 3, copyBytes: '2GiB' }));
    expect([set.maxCopies, set.copyMaxBytes]).toEqual([3, 2 ** 31]);
    expect(problemsOf(withLimits({ copies: 0 }))).toContain('BERTH_LIMITS.copies must be at least 1 copies');
    expect(problemsOf(withLimits({ copyBytes: '0' }))).toContain(
      'BERTH_LIMITS.copyBytes must be a size from 1.0 MiB to',
    );
  });
  test('P121: the limit of stored output can be set, but not below 1 MiB', () => {
    expect(read(withLimits({ logBytes: '256MiB' })).logMaxBytes).toBe(2 ** 28);
    for (const text of ['0', '1023KiB', 'much'])
      expect(problemsOf(withLimits({ logBytes: text }))).toContain(
        'BERTH_LIMITS.logBytes must be a size from 1.0 MiB to',
      );
  });
  test('commas separate the items of lists', () => {
    expect(read({ BERTH_AGENT_LABELS: 'gpu, ssd,' }).labels).toEqual(['gpu', 'ssd']);
  });
  test('P155: containers cannot write to the files of the engine in /etc, unless the setting allows it', () => {
    expect(read().etcFiles).toBe('read-only');
    expect(read({ BERTH_AGENT_WITHOUT: 'read-only-etc' }).etcFiles).toBe('writable');
  });
  test('P110: containers with host folders run as their image says, or as the fs_uid of their owner', () => {
    expect(read().runAs).toBe('image');
    expect(read({ BERTH_AGENT_RUN_AS: 'fs_uid' }).runAs).toBe('fs_uid');
    expect(problemsOf({ BERTH_AGENT_RUN_AS: 'root' })).toContain(
      'BERTH_AGENT_RUN_AS must be image or fs_uid',
    );
  });
  test('P107: further capabilities can be named, each by itself', () => {
    expect(read().capabilities).toEqual([]);
    expect(read({ BERTH_AGENT_CAPABILITIES: 'NET_RAW, cap_sys_chroot,NET_RAW' }).capabilities).toEqual([
      'NET_RAW',
      'SYS_CHROOT',
    ]);
    for (const text of ['ALL', 'CAP_ALL', 'NET_RAW,NONSENSE', 'toString'])
      expect(problemsOf({ BERTH_AGENT_CAPABILITIES: text })).toMatch(
        /BERTH_AGENT_CAPABILITIES must be Linux capabilities, which (ALL|CAP_ALL|NONSENSE|toString) is not/,
      );
  });
  test('P139: the registries are listed as image names have them, and anything else is refused', () => {
    expect(read({ BERTH_AGENT_REGISTRIES: 'docker.io, Reg.example:5000,[fd00::1]:5000' }).registries).toEqual(
      ['docker.io', 'reg.example:5000', '[fd00::1]:5000'],
    );
    for (const text of ['https://reg.example', 'reg.example/path', ','])
      expect(problemsOf({ BERTH_AGENT_REGISTRIES: text })).toContain('BERTH_AGENT_REGISTRIES must be a list');
  });
  test('P42: the minimum of free disk space can be set in bytes or larger units, and to 0', () => {
    const least = (text: string) => read(withLimits({ minDiskBytes: text })).minDiskBytes;
    expect([least('0'), least('1000'), least('2.5GiB'), least('1TiB')]).toEqual([
      0,
      1000,
      2.5 * 2 ** 30,
      2 ** 40,
    ]);
    for (const text of ['5%', '1GB', '-1', 'much'])
      expect(problemsOf(withLimits({ minDiskBytes: text }))).toContain(
        'BERTH_LIMITS.minDiskBytes must be a size from 0 bytes to',
      );
  });
  test('P182: the days for which images stay can be any number from 0', () => {
    const days = (unusedImageDays: number) => read(withLimits({ unusedImageDays })).keepImagesDays;
    expect([days(0), days(0.5), days(90)]).toEqual([0, 0.5, 90]);
    for (const unusedImageDays of [-1, 'a week'])
      expect(problemsOf(withLimits({ unusedImageDays }))).toContain('BERTH_LIMITS.unusedImageDays must be');
  });
  test('P145: the free space below which services are ended is at most the minimum', () => {
    const critical = (env: NodeJS.ProcessEnv) => read(env).criticalDiskBytes;
    expect(critical(withLimits({ criticalDiskBytes: '100MiB' }))).toBe(100 * 2 ** 20);
    expect(critical(withLimits({ criticalDiskBytes: '0' }))).toBe(0);
    expect(critical(withLimits({ minDiskBytes: '256MiB' }))).toBe(2 ** 28);
    expect(critical(withLimits({ minDiskBytes: '0' }))).toBe(0);
    expect(problemsOf(withLimits({ criticalDiskBytes: '1GB' }))).toContain(
      'BERTH_LIMITS.criticalDiskBytes must be a size from 0 bytes to',
    );
  });
  test('P92: ranges of addresses for networks can be set, and are by default those for measurements', () => {
    expect(read().subnets).toEqual([{ first: 0xc6120000, bits: 15 }]);
    expect(read({ BERTH_AGENT_SUBNETS: '10.1.0.0/16, 10.3.0.0/22' }).subnets).toEqual([
      { first: 0x0a010000, bits: 16 },
      { first: 0x0a030000, bits: 22 },
    ]);
    for (const wrong of ['10.1.0.1/16', '10.1.0.0/23', 'fd00::/64', ','])
      expect(problemsOf({ BERTH_AGENT_SUBNETS: wrong })).toContain('BERTH_AGENT_SUBNETS must be IPv4 ranges');
  });
  test('P97: the firewall is on unless it is turned off', () => {
    expect(read().firewall).toBe(true);
    expect(read({ BERTH_AGENT_WITHOUT: 'firewall' }).firewall).toBe(false);
  });
  test('P98: overlay networks are joined unless they are turned off', () => {
    expect(read().overlay).toBe(true);
    expect(read({ BERTH_AGENT_WITHOUT: 'overlay' }).overlay).toBe(false);
  });
  test('P97, P98: what an agent does without is a list, and any other word is refused', () => {
    expect(read({ BERTH_AGENT_WITHOUT: 'firewall, overlay' })).toMatchObject({
      firewall: false,
      overlay: false,
      etcFiles: 'read-only',
    });
    expect(problemsOf({ BERTH_AGENT_WITHOUT: 'firewall,off' })).toContain(
      'BERTH_AGENT_WITHOUT must be a list of encryption, firewall, overlay, read-only-etc, updates, which off is not',
    );
  });
  test('C111: the shared network must be a network that an administrator created', () => {
    expect(read({ BERTH_AGENT_NETWORK: 'overlay1' }).network).toBe('overlay1');
    for (const network of ['host', 'none', 'bridge', 'ingress', 'container:x']) {
      expect(problemsOf({ BERTH_AGENT_NETWORK: network })).toContain('BERTH_AGENT_NETWORK must be');
    }
  });
  test('the default data folder lies in that of the control plane', () => {
    expect(read({ BERTH_DATA_DIR: '/data' }).dataDir).toBe('/data/agent');
  });
  test('P191: BERTH_URL may list several control planes, and each must be a URL', () => {
    const BERTH_URL = 'https://one.example, https://two.example:5001/berth';
    expect(read({ BERTH_URL }).urls.map(({ href }) => href)).toEqual([
      'https://one.example/',
      'https://two.example:5001/berth',
    ]);
    expect(problemsOf({ BERTH_URL: 'https://one.example,nonsense' })).toContain(
      'BERTH_URL must be a URL like',
    );
    expect(problemsOf({ BERTH_URL: ',' })).toContain('BERTH_URL must be a URL like');
    expect(problemsOf({ BERTH_URL: Array(9).fill('https://one.example').join() })).toContain(
      'up to 8 of them',
    );
    expect(problemsOf({ BERTH_URL: 'https://one.example,http://two.example' })).toMatch(
      /BERTH_URL=http:\/\/two\.example\/ is on another machine and not encrypted/,
    );
  });
  test('one message names all invalid settings', () => {
    const env = {
      BERTH_URL: 'nonsense',
      BERTH_AGENT_RESERVE: 'much',
      BERTH_LIMITS: '{"logDays": -1}',
    };
    const message = problemsOf(env);
    for (const name of Object.keys(env)) expect(message).toContain(name);
  });
  test('an error message never contains the join token', () => {
    expect(problemsOf({ BERTH_JOIN_TOKEN: 'secret', BERTH_URL: 'nonsense' })).not.toContain('secret');
  });
});

describe('the reserve', () => {
  test.each([
    ['memory=512MiB,cores=0.5', { memoryBytes: 512 * 2 ** 20, cores: 0.5 }],
    ['cores=1', { memoryBytes: null, cores: 1 }],
    ['memory=1.5GiB', { memoryBytes: 1.5 * 2 ** 30, cores: 0 }],
    ['memory=1000', { memoryBytes: 1000, cores: 0 }],
  ])('the text %s is parsed', (text, reserve) => {
    expect(parseReserve(text)).toEqual(reserve);
  });
  test.each(['', 'memory', 'memory=1MB', 'cores=1GiB', 'disk=1', 'memory=-1'])(
    'the text "%s" is refused',
    (text) => {
      expect(parseReserve(text)).toBeUndefined();
    },
  );
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

describe('the backoff', () => {
  test('the wait grows to 10 s and no further', () => {
    expect([0, 1, 2, 5, 6, 60].map((attempt) => backoffMs(attempt, 1, 0))).toEqual([
      250, 500, 1000, 8000, 10_000, 10_000,
    ]);
  });
  test('the wait is jittered down to one half', () => {
    expect(backoffMs(2, 0, 0)).toBe(500);
  });
  test('P72: the wait is spread over the period of the control plane, but never exceeds 10 s', () => {
    expect([0, 0.5, 1].map((random) => backoffMs(0, random, 3_000))).toEqual([125, 1_625, 3_125]);
    expect([0, 0.5, 1].map((random) => backoffMs(1, random, 10_000))).toEqual([250, 5_125, 10_000]);
    expect([0, 0.5, 1].map((random) => backoffMs(60, random, 10_000))).toEqual([5_000, 7_500, 10_000]);
    expect(backoffMs(2, 0.5, 150)).toBe(750);
  });
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
