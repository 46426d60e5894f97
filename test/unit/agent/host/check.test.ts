import { describe, expect, test } from 'vitest';
import { clockFinding, type EngineInfo, engineFindings } from '../../../../agent/host/check.ts';

const engine: EngineInfo = {
  OSType: 'linux',
  Driver: 'overlay2',
  KernelVersion: '6.1.0',
  MemoryLimit: true,
  CpuCfsQuota: true,
  PidsLimit: true,
  DockerRootDir: '/var/lib/docker',
};

describe('the engine', () => {
  test('H263: an engine without faults gives no finding', () => {
    for (const version of ['1.41', '1.54', '1.100']) expect(engineFindings(version, engine)).toEqual([]);
  });

  test.each([
    ['1.40', {}, 'problem', /older than Docker 20\.10 .*update it/],
    ['1.9', {}, 'problem', /older than Docker 20\.10/],
    ['1.43', { OSType: 'windows' }, 'problem', /runs windows containers/],
    [
      '1.43',
      { MemoryLimit: false },
      'warning',
      /kernel \(6\.1\.0\) cannot limit memory: .*cgroup_enable=memory/,
    ],
    ['1.43', { CpuCfsQuota: false }, 'warning', /cannot limit CPU cores/],
    ['1.43', { PidsLimit: false }, 'warning', /cannot limit processes/],
    ['1.43', { Driver: 'vfs' }, 'warning', /no overlay file system/],
  ] as const)('H263: an engine with API %s and %o gives a %s', (version, fault, level, text) => {
    const findings = engineFindings(version, { ...engine, ...fault });
    expect(findings).toEqual([{ level, text: expect.stringMatching(text) }]);
  });
});

describe('the clock', () => {
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  const found = (aheadMs: number, anyClock = false) =>
    clockFinding({ sentMs: nowMs, receivedMs: nowMs + 40, theirMs: nowMs - aheadMs }, anyClock);

  test.each([0, 4_900, -5_000])(
    'H263: a difference of %d ms counts as none, because a header has whole seconds',
    (aheadMs) => {
      expect(found(aheadMs).level).toBe('ok');
    },
  );

  test('H263: a difference beyond 5 s is reported with its direction', () => {
    expect(found(12_000)).toEqual({
      level: 'warning',
      text: expect.stringContaining('12 s ahead of the control'),
    });
    expect(found(-12_000)).toEqual({
      level: 'warning',
      text: expect.stringContaining('12 s behind the control'),
    });
  });

  test('H264: a host with a difference beyond 30 s does not join, unless that is allowed', () => {
    expect(found(31_000)).toEqual({ level: 'problem', text: expect.stringContaining('BERTH_ANY_CLOCK=1') });
    expect(found(31_000, true).level).toBe('warning');
  });
});
