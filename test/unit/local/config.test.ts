import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, schedulerConfigOf } from '../../../control-plane/config.ts';

describe('BERTH_HOST_LOST_AFTER', () => {
  const lostAfterMs = (text?: string) =>
    schedulerConfigOf(readConfig({ BERTH_HOST_LOST_AFTER: text })).lostAfterMs;

  test('C110: it is in seconds, 90 by default', () => {
    expect(lostAfterMs('5')).toBe(5_000);
    expect(lostAfterMs('86400')).toBe(86_400_000);
    expect(lostAfterMs()).toBe(90_000);
    expect(lostAfterMs('')).toBe(90_000);
  });
  test('C110: it may have fractions and is rounded to whole milliseconds, the unit of agents', () => {
    expect(['16.1', '32.3', '90.0005'].map(lostAfterMs)).toEqual([16_100, 32_300, 90_001]);
  });
  test.each(['4.9', '86401', 'soon', '-90', 'Infinity'])('C110: %s is refused', (text) => {
    expect(() => lostAfterMs(text)).toThrow(ConfigError);
    expect(() => lostAfterMs(text)).toThrow('BERTH_HOST_LOST_AFTER: must be');
  });
});

describe('BERTH_BACKFILL_RESERVE_AFTER', () => {
  test('C73: it is in seconds, 600 by default', () => {
    const delayMs = (text?: string) =>
      schedulerConfigOf(readConfig({ BERTH_BACKFILL_RESERVE_AFTER: text })).backfillReserveAfterMs;
    expect([delayMs('0'), delayMs('60'), delayMs()]).toEqual([0, 60_000, 600_000]);
  });
  test('C73: its old name is refused, and the message names the new one beside every other problem', () => {
    const read = () => readConfig({ BERTH_HOLD_AFTER: '60', BERTH_HOST_LOSS: 'never' });
    expect(read).toThrow(
      'BERTH_HOLD_AFTER: was renamed, set BERTH_BACKFILL_RESERVE_AFTER instead; BERTH_HOST_LOSS:',
    );
  });
});
