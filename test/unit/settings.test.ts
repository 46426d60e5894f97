import { describe, expect, test } from 'vitest';
import { ConfigError, readConfig, schedulingOf } from '../../control-plane/config.ts';

describe('BERTH_HOST_LOST_AFTER', () => {
  const lostAfterMs = (text?: string) =>
    schedulingOf(readConfig({ BERTH_HOST_LOST_AFTER: text })).lostAfterMs;

  test('C110: is in seconds, and 90 without it', () => {
    expect(lostAfterMs('5')).toBe(5_000);
    expect(lostAfterMs('86400')).toBe(86_400_000);
    expect(lostAfterMs()).toBe(90_000);
    expect(lostAfterMs('')).toBe(90_000);
  });
  test.each(['4.9', '86401', 'soon', '-90', 'Infinity'])('C110: refuses %s', (text) => {
    expect(() => lostAfterMs(text)).toThrow(ConfigError);
    expect(() => lostAfterMs(text)).toThrow('BERTH_HOST_LOST_AFTER: must be');
  });
});
