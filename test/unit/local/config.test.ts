import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, schedulerConfigOf } from '../../../control-plane/config.ts';

describe('BERTH_HOST_LOST_AFTER', () => {
  const lostAfterMs = (text?: string) =>
    schedulerConfigOf(readConfig({ BERTH_HOST_LOST_AFTER: text })).lostAfterMs;

  test('C110: is in seconds, and 90 without it', () => {
    expect(lostAfterMs('5')).toBe(5_000);
    expect(lostAfterMs('86400')).toBe(86_400_000);
    expect(lostAfterMs()).toBe(90_000);
    expect(lostAfterMs('')).toBe(90_000);
  });
  test('C110: may have fractions, and comes to whole milliseconds, as agents are told it', () => {
    expect(['16.1', '32.3', '90.0005'].map(lostAfterMs)).toEqual([16_100, 32_300, 90_001]);
  });
  test.each(['4.9', '86401', 'soon', '-90', 'Infinity'])('C110: refuses %s', (text) => {
    expect(() => lostAfterMs(text)).toThrow(ConfigError);
    expect(() => lostAfterMs(text)).toThrow('BERTH_HOST_LOST_AFTER: must be');
  });
});
