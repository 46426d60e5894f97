import { describe, expect, test } from 'vitest';
import {
  ConfigError,
  connectionLimitsOf,
  readConfig,
  readNodeConfig,
  schedulerConfigOf,
} from '../../../control-plane/config.ts';
import { scrapeAccessOf } from '../../../control-plane/operations/cluster/metrics.ts';

const withLimits = (limits: object) => ({ BERTH_LIMITS: JSON.stringify(limits) });

test('C110: the time after which a host is lost is in seconds, 90 by default, with fractions, and rounded to whole milliseconds, the unit of agents', () => {
  const lostAfterMs = (hostLostAfterS?: unknown) =>
    schedulerConfigOf(readConfig(withLimits({ hostLostAfterS }))).lostAfterMs;
  expect([lostAfterMs(5), lostAfterMs(86_400), lostAfterMs()]).toEqual([5_000, 86_400_000, 90_000]);
  expect([16.1, 32.3, 90.0005].map(lostAfterMs)).toEqual([16_100, 32_300, 90_001]);
  for (const wrong of [4.9, 86_401, 'soon', -90, null]) {
    expect(() => lostAfterMs(wrong)).toThrow(ConfigError);
    expect(() => lostAfterMs(wrong)).toThrow('BERTH_LIMITS.hostLostAfterS: must be');
  }
});

test('C73: the delay of backfill reservations is in seconds, a day by default', () => {
  const delayMs = (backfillReserveAfterS?: number) =>
    schedulerConfigOf(readConfig(withLimits({ backfillReserveAfterS }))).backfillReserveAfterMs;
  expect([delayMs(0), delayMs(60), delayMs()]).toEqual([0, 60_000, 86_400_000]);
});

test('C198: the default memory limit is 512 MiB, and no size that an engine refuses as a limit', () => {
  const limitOf = (defaultMemoryBytes?: string) =>
    schedulerConfigOf(readConfig(withLimits({ defaultMemoryBytes }))).defaultMemoryBytes;
  const MIB = 2 ** 20;
  expect([undefined, '6MiB', '1.5GiB'].map(limitOf)).toEqual([512 * MIB, 6 * MIB, 1536 * MIB]);
  for (const text of ['0', '5MiB', 'much', '99999999TiB'])
    expect(() => limitOf(text)).toThrow('BERTH_LIMITS.defaultMemoryBytes: must be a size from 6.0 MiB to');
});

describe('bounds of the queue', () => {
  const boundsOf = (read: typeof readConfig, limits = {}) =>
    schedulerConfigOf(read(withLimits(limits))).bounds;

  test('H309: the memory for bodies is 64 MiB on Node and 16 MiB on Cloudflare', () => {
    expect(readNodeConfig({}).BERTH_LIMITS.bodyMemoryBytes).toBe(64 * 2 ** 20);
    expect(readConfig({}).BERTH_LIMITS.bodyMemoryBytes).toBe(16 * 2 ** 20);
  });
  test('H355, H356, H357, H360, H379, H443, C173, C220, C266, C267: the bounds have defaults for Node and for Cloudflare', () => {
    expect(boundsOf(readNodeConfig)).toMatchObject({
      ...{ waiting: 100_000, waitingPerUser: 10_000, waitingBytesPerUser: 256 * 2 ** 20 },
      ...{ placedInstances: 200_000, adoptedInstances: 200_000, instancesPerExecution: 1_000 },
      ...{ textBytesPerExecution: 8 * 2 ** 20, unprovenIds: 100_000, idempotencyKeysPerUser: 10_000 },
      ...{ auditRows: 100_000, auditDays: 90 },
    });
    expect(boundsOf(readConfig)).toMatchObject({
      ...{ waiting: 20_000, waitingPerUser: 2_000, waitingBytesPerUser: 32 * 2 ** 20 },
      ...{ placedInstances: 20_000, adoptedInstances: 20_000, instancesPerExecution: 1_000 },
      ...{ textBytesPerExecution: 4 * 2 ** 20, unprovenIds: 100_000, idempotencyKeysPerUser: 10_000 },
      ...{ auditRows: 100_000, auditDays: 90 },
    });
  });
  test('C211: the bound on ids without a proof may be 0, which refuses all of them', () => {
    expect(boundsOf(readNodeConfig, { unprovenIds: 0 }).unprovenIds).toBe(0);
    const negative = () => readConfig(withLimits({ unprovenIds: -1 }));
    expect(negative).toThrow('BERTH_LIMITS.unprovenIds: must be at least 0 ids');
  });
  test('C240, C243: the days for which ended executions are kept may be a fraction, 0 or absent', () => {
    const daysOf = (endedDays?: unknown) => readConfig(withLimits({ endedDays })).BERTH_LIMITS.endedDays;
    expect([daysOf(), daysOf(0), daysOf(0.5)]).toEqual([undefined, 0, 0.5]);
    expect(() => daysOf(-1)).toThrow('BERTH_LIMITS.endedDays: must be at least 0 days');
    expect(() => daysOf('long')).toThrow('BERTH_LIMITS.endedDays: must be a number of days');
  });
  test('H358, H360: a bound that is not a positive whole number, or allows more instances than a description has, is refused by name', () => {
    for (const waiting of [0, 1.5, '4'])
      expect(() => boundsOf(readNodeConfig, { waiting })).toThrow('BERTH_LIMITS.waiting: must be');
    for (const read of [readConfig, readNodeConfig])
      expect(() => boundsOf(read, { instancesPerExecution: 1_001 })).toThrow(
        'BERTH_LIMITS.instancesPerExecution: must be at most 1000 instances',
      );
  });
});

test('H344, H345, H347, H377, H378: the limits of connections have defaults; agents have at most half of all connections in reserve, and there is at least one', () => {
  const limits = (given = {}) => connectionLimitsOf(readNodeConfig(withLimits(given)));
  expect(limits()).toEqual({
    ...{ connections: 5_000, perAddress: 2_000, forAgents: 1_000 },
    ...{ pipelined: 16, unreadBytes: 256 * 1024 * 1024 },
  });
  expect(limits({ connections: 101 }).forAgents).toBe(50);
  expect(() => limits({ connections: 0 })).toThrow('BERTH_LIMITS.connections: must be at least 1');
});

const access = (env: Record<string, string>) => scrapeAccessOf(readConfig(env));
const token = '0123456789abcdef';

test('H450: metrics are for administrators, for the holder of a token, for anybody or for nobody', () => {
  expect(access({})).toEqual({ by: 'account' });
  expect(access({ BERTH_METRICS: token })).toEqual({ by: 'token', token });
  expect(access({ BERTH_METRICS: 'open' })).toEqual({ by: 'anyone' });
  expect(access({ BERTH_METRICS: 'off' })).toBeUndefined();
});
test('H450: a token that is short, or that no header can hold, is refused without being named', () => {
  for (const wrong of ['short', `${token} ${token}`, `${token}ü`]) {
    const read = () => readConfig({ BERTH_METRICS: wrong });
    expect(read).toThrow('BERTH_METRICS: must');
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
