import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  connectionLimitsOf,
  readConfig,
  readNodeConfig,
  schedulerConfigOf,
} from '../../../control-plane/config.ts';
import { scrapeAccessOf } from '../../../control-plane/operations/cluster/metrics.ts';

const lostAfterMs = (text?: string) =>
  schedulerConfigOf(readConfig({ BERTH_HOST_LOST_AFTER: text })).lostAfterMs;

test('C110: BERTH_HOST_LOST_AFTER is in seconds, 90 by default, with fractions, and rounded to whole milliseconds, the unit of agents', () => {
  expect([undefined, ''].map(lostAfterMs)).toEqual([90_000, 90_000]);
  expect(['5', '86400'].map(lostAfterMs)).toEqual([5_000, 86_400_000]);
  expect(['16.1', '32.3', '90.0005'].map(lostAfterMs)).toEqual([16_100, 32_300, 90_001]);
  for (const text of ['4.9', '86401', 'soon', '-90', 'Infinity']) {
    expect(() => lostAfterMs(text)).toThrow(ConfigError);
    expect(() => lostAfterMs(text)).toThrow('BERTH_HOST_LOST_AFTER: must be');
  }
});

test('C73: BERTH_BACKFILL_RESERVE_AFTER is in seconds, a day by default; its old name is refused, and the message names the new one beside every other problem', () => {
  const delayMs = (text?: string) =>
    schedulerConfigOf(readConfig({ BERTH_BACKFILL_RESERVE_AFTER: text })).backfillReserveAfterMs;
  expect([delayMs('0'), delayMs('60'), delayMs()]).toEqual([0, 60_000, 86_400_000]);
  const read = () => readConfig({ BERTH_HOLD_AFTER: '60', BERTH_HOST_LOSS: 'never' });
  expect(read).toThrow(
    'BERTH_HOLD_AFTER: was renamed, set BERTH_BACKFILL_RESERVE_AFTER instead; BERTH_HOST_LOSS:',
  );
});

test('C198: the default memory limit is 512 MiB, and no size that an engine refuses as a limit', () => {
  const limitOf = (text?: string) =>
    schedulerConfigOf(readConfig({ BERTH_DEFAULT_MEMORY: text })).defaultMemoryBytes;
  const MIB = 2 ** 20;
  expect([undefined, '6MiB', '1.5GiB'].map(limitOf)).toEqual([512 * MIB, 6 * MIB, 1536 * MIB]);
  for (const text of ['0', '5MiB', 'much', '99999999TiB'])
    expect(() => limitOf(text)).toThrow('BERTH_DEFAULT_MEMORY: must be a size of at least 6MiB, like 512MiB');
});

describe('bounds of the queue', () => {
  const boundsOf = (read: typeof readConfig, env = {}) => schedulerConfigOf(read(env)).bounds;

  test('H309: the memory for bodies is 64 MiB on Node and 16 MiB on Cloudflare', () => {
    expect(readNodeConfig({}).BERTH_MAX_BODY_MEMORY_MIB).toBe(64);
    expect(readConfig({}).BERTH_MAX_BODY_MEMORY_MIB).toBe(16);
    expect(() => readConfig({ BERTH_MAX_BODY_MEMORY_MIB: '0' })).toThrow(/BERTH_MAX_BODY_MEMORY_MIB/);
  });
  test('H355, H356, H357, H360, H379, H443, C173, C220, C266, C267: the bounds have defaults for Node and for Cloudflare', () => {
    expect(boundsOf(readNodeConfig)).toEqual({
      ...{ waiting: 100_000, waitingPerUser: 10_000, waitingBytesPerUser: 256 * 2 ** 20 },
      ...{ placedInstances: 200_000, adoptedInstances: 200_000, instancesPerExecution: 1_000 },
      ...{ textBytesPerExecution: 8 * 2 ** 20, unprovenIds: 100_000, keysPerUser: 10_000 },
      ...{ auditRows: 100_000, auditDays: 90 },
    });
    expect(boundsOf(readConfig)).toEqual({
      ...{ waiting: 20_000, waitingPerUser: 2_000, waitingBytesPerUser: 32 * 2 ** 20 },
      ...{ placedInstances: 20_000, adoptedInstances: 20_000, instancesPerExecution: 1_000 },
      ...{ textBytesPerExecution: 4 * 2 ** 20, unprovenIds: 100_000, keysPerUser: 10_000 },
      ...{ auditRows: 100_000, auditDays: 90 },
    });
  });
  test('C211: the bound on ids without a proof may be 0, which refuses all of them', () => {
    expect(boundsOf(readNodeConfig, { BERTH_MAX_UNPROVEN_IDS: '0' }).unprovenIds).toBe(0);
    const negative = () => readConfig({ BERTH_MAX_UNPROVEN_IDS: '-1' });
    expect(negative).toThrow('BERTH_MAX_UNPROVEN_IDS: must be at least 0');
  });
  test('C240, C243: the days for which ended executions are kept may be a fraction, 0 or absent', () => {
    expect(readConfig({}).BERTH_KEEP_ENDED).toBeUndefined();
    expect(readConfig({ BERTH_KEEP_ENDED: '0' }).BERTH_KEEP_ENDED).toBe(0);
    expect(readNodeConfig({ BERTH_KEEP_ENDED: '0.5' }).BERTH_KEEP_ENDED).toBe(0.5);
    for (const [text, problem] of Object.entries({ '-1': 'at least 0 days', long: 'a number of days' }))
      expect(() => readConfig({ BERTH_KEEP_ENDED: text })).toThrow(`BERTH_KEEP_ENDED: must be ${problem}`);
  });
  test('H358: a bound that is not a positive whole number is refused by name', () => {
    for (const [name, text, problem] of [
      ...['0', '1.5', 'many'].map((text) => ['BERTH_MAX_WAITING', text, 'must be'] as const),
      ['BERTH_MAX_INSTANCES_PER_EXECUTION', '1001', 'must be at most 1000 instances'] as const,
    ])
      expect(() => boundsOf(readConfig, { [name]: text })).toThrow(`${name}: ${problem}`);
  });
});

const limits = (env: Record<string, string>) => connectionLimitsOf(readNodeConfig(env));

test('H344, H345, H347, H377, H378: the limits of connections have defaults; agents have at most half of all connections in reserve, and there is at least one', () => {
  expect(limits({})).toEqual({
    ...{ connections: 5_000, perAddress: 2_000, forAgents: 1_000 },
    ...{ pipelined: 16, unreadBytes: 256 * 1024 * 1024 },
  });
  expect(limits({ BERTH_MAX_CONNECTIONS: '101' }).forAgents).toBe(50);
  expect(() => limits({ BERTH_MAX_CONNECTIONS: '0' })).toThrow('BERTH_MAX_CONNECTIONS: must be at least 1');
});

const access = (env: Record<string, string>) => scrapeAccessOf(readConfig(env));
const token = '0123456789abcdef';

test('H450: metrics are for administrators, for the holder of a token, for anybody or for nobody', () => {
  expect(access({})).toEqual({ by: 'account' });
  expect(access({ BERTH_METRICS_TOKEN: token })).toEqual({ by: 'token', token });
  expect(access({ BERTH_METRICS: 'open', BERTH_METRICS_TOKEN: token })).toEqual({ by: 'anyone' });
  expect(access({ BERTH_METRICS: 'off' })).toBeUndefined();
});
test('H450: a token that is short, or that no header can hold, is refused without being named', () => {
  for (const wrong of ['short', `${token} ${token}`, `${token}ü`]) {
    const read = () => readConfig({ BERTH_METRICS_TOKEN: wrong });
    expect(read).toThrow('BERTH_METRICS_TOKEN: must');
    expect(read).not.toThrow(wrong);
  }
});

const server = { BERTH_DATABASE_URL: 'http://127.0.0.1:8080', BERTH_LOCAL_AGENT: 'off' };

test('C251: BERTH_STANDBY is off by default, and requires a libSQL server and no local agent, both of which the message names', () => {
  expect(readNodeConfig({}).BERTH_STANDBY).toBe('off');
  expect(readNodeConfig({ ...server, BERTH_STANDBY: 'on' }).BERTH_STANDBY).toBe('on');
  expect(() => readNodeConfig({ BERTH_STANDBY: 'on' })).toThrow(
    /BERTH_DATABASE_URL: must be the URL of a libSQL server.*; BERTH_LOCAL_AGENT: must be off/,
  );
  expect(() => readNodeConfig({ ...server, BERTH_STANDBY: 'yes' })).toThrow('BERTH_STANDBY: must be');
});
