import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../../agent/backoff.ts';
import { ConfigError, type Machine, readConfig } from '../../../agent/config.ts';
import { connectUrl } from '../../../agent/connection/socket.ts';
import { defaultRouteInterface } from '../../../agent/host/machine.ts';
import { parseReserve } from '../../../agent/reserve.ts';

const machine: Machine = { hostname: 'node1', routedAddress: '10.0.0.5', dockerHost: 'unix:///run/d.sock' };
const read = (env: NodeJS.ProcessEnv = {}) => readConfig(env, machine);

describe('settings', () => {
  test('every setting has a default', () => {
    expect(read()).toMatchObject({
      url: new URL('http://127.0.0.1:5001'),
      deployment: 'local',
      dockerHost: 'unix:///run/d.sock',
      name: 'node1',
      isNameGiven: false,
      joinToken: undefined,
      labels: [],
      reserve: { memoryBytes: 0, cores: 0 },
      volumeRoots: [],
      workspaceRoot: null,
      network: null,
      networks: [],
      logDays: 30,
      minDiskBytes: 2 ** 30,
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
  test('the default address is the loopback address if the control plane is reached by it', () => {
    expect(read({ BERTH_URL: 'http://localhost:5001' }).address).toBe('127.0.0.1');
  });
  test('the address can be set', () => {
    expect(read({ BERTH_AGENT_ADDRESS: 'node1.example' }).address).toBe('node1.example');
  });
  test('commas separate the items of lists', () => {
    expect(read({ BERTH_AGENT_LABELS: 'gpu, ssd,' }).labels).toEqual(['gpu', 'ssd']);
  });
  test('P42: the minimum of free disk space can be set in bytes or larger units, and to 0', () => {
    const least = (text: string) => read({ BERTH_AGENT_MIN_DISK: text }).minDiskBytes;
    expect([least('0'), least('1000'), least('2.5GiB'), least('1TiB')]).toEqual([
      0,
      1000,
      2.5 * 2 ** 30,
      2 ** 40,
    ]);
    for (const text of ['5%', '1GB', '-1', 'much'])
      expect(problemsOf({ BERTH_AGENT_MIN_DISK: text })).toContain(
        'BERTH_AGENT_MIN_DISK must be a size like 2GiB, or 0',
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
  test('one message names all invalid settings', () => {
    const env = {
      BERTH_URL: 'nonsense',
      BERTH_AGENT_RESERVE: 'much',
      BERTH_AGENT_LOG_DAYS: '-1',
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
    ['cores=1', { memoryBytes: 0, cores: 1 }],
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
