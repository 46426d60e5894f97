import type { MountSettings } from 'dockerode';
import { describe, expect, test } from 'vitest';
import {
  containerOptions,
  nanoCpus,
  type Surroundings,
} from '../../../../agent/engine/docker/container-spec.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const around: Surroundings = {
  deployment: 'blue',
  host: 'node1',
  network: 'net-id',
  mounts: [],
  memoryBytes: 8 * 2 ** 30,
  nanoCpus: 1.5e9,
  init: true,
};
const optionsOf = (changes: Partial<Assignment> = {}) => containerOptions(assignment(changes), around);
const hostConfigOf = (changes: Partial<Assignment> = {}) => optionsOf(changes).HostConfig ?? {};

describe('names', () => {
  test('the container, its host and its alias carry the assignment name', () => {
    const options = optionsOf({ name: 'web0-7-blue' });
    expect(options).toMatchObject({ name: 'web0-7-blue', Hostname: 'web0-7-blue' });
    expect(options.NetworkingConfig?.EndpointsConfig).toEqual({ 'net-id': { Aliases: ['web0-7-blue'] } });
  });
  test('a host name is cut to what the kernel takes', () => {
    expect(optionsOf({ name: `${'a'.repeat(62)}-7-blue` }).Hostname).toBe('a'.repeat(62));
  });
  test('the labels say whose it is', () => {
    const changes = { service: 5, execution: 7, generation: 2, owner: 'bob', coresMin: 0.5, coresMax: 2 };
    expect(optionsOf(changes).Labels).toEqual({
      'berth.deployment': 'blue',
      'berth.host': 'node1',
      'berth.execution': '7',
      'berth.service': '5',
      'berth.generation': '2',
      'berth.owner': 'bob',
      'berth.cores.min': '0.5',
      'berth.cores.max': '2',
    });
  });
  test('C80: the labels tell 0.1 cores where nothing is reserved, and no max where there is none', () => {
    expect(optionsOf().Labels).toMatchObject({ 'berth.cores.min': '0.1' });
    expect(optionsOf().Labels).not.toHaveProperty('berth.cores.max');
  });
});

describe('the process', () => {
  test('without a command the image runs its own', () => {
    expect(optionsOf({ command: null })).not.toHaveProperty('Cmd');
  });
  test('a command is given word by word and leaves the entry point alone', () => {
    const options = optionsOf({ command: ['echo', 'a b'] });
    expect(options.Cmd).toEqual(['echo', 'a b']);
    expect(options).not.toHaveProperty('Entrypoint');
  });
  test('a later environment entry of the same name wins', () => {
    const environment: [string, string][] = [
      ['A', '1'],
      ['B', ''],
      ['A', '2'],
    ];
    expect(optionsOf({ environment }).Env).toEqual(['A=2', 'B=']);
  });
  test('the workspace is told where this host has one', () => {
    const mount: MountSettings = { Type: 'bind', Source: '/data/alice', Target: '/workspace' };
    const environment: [string, string][] = [['A', '1']];
    const { Env } = containerOptions(assignment({ environment }), { ...around, mounts: [mount] });
    expect(Env).toEqual(['A=1', 'BERTH_WORKSPACE=/workspace', 'ZOE_WORKSPACE=/workspace']);
  });
  test('a working folder is set only where there is one', () => {
    expect(optionsOf({ workDir: '/srv' }).WorkingDir).toBe('/srv');
    expect(optionsOf()).not.toHaveProperty('WorkingDir');
  });
});

describe('limits', () => {
  test('memory: soft limit from min, hard limit from max, no swap beyond it', () => {
    expect(hostConfigOf({ memoryMinBytes: 64e6, memoryMaxBytes: 128e6 })).toMatchObject({
      MemoryReservation: 64e6,
      Memory: 128e6,
      MemorySwap: 128e6,
    });
  });
  test('memory without a max is capped at what the host has', () => {
    expect(hostConfigOf().Memory).toBe(8 * 2 ** 30);
  });
  test('a soft limit smaller than the engine takes is left out', () => {
    expect(hostConfigOf({ memoryMinBytes: 1e6 })).not.toHaveProperty('MemoryReservation');
  });
  test('cores: 1024 shares a core from min, and the limit it is given', () => {
    expect(hostConfigOf({ coresMin: 1.5, coresMax: 2 })).toMatchObject({ CpuShares: 1536, NanoCpus: 1.5e9 });
  });
  test('shares never fall below what the kernel takes', () => {
    expect(hostConfigOf({ coresMin: 0 }).CpuShares).toBe(2);
  });
  test('cores are capped at what the engine has', () => {
    expect(nanoCpus(64, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: true })).toBe(4e9);
  });
  test('C162: an engine that limits no cores is asked for no limit, which it would refuse', () => {
    const none = nanoCpus(1, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: false });
    const { HostConfig } = containerOptions(assignment({ coresMin: 1 }), { ...around, nanoCpus: none });
    expect(HostConfig).toMatchObject({ CpuShares: 1024 });
    expect(HostConfig).not.toHaveProperty('NanoCpus');
  });
  test('shared memory is set only where it is asked for', () => {
    expect(hostConfigOf({ shmBytes: 1e6 }).ShmSize).toBe(1e6);
    expect(hostConfigOf()).not.toHaveProperty('ShmSize');
  });
});

describe('isolation', () => {
  test('never privileged, no new privileges, a limit on processes, no restart by the engine', () => {
    expect(hostConfigOf()).toMatchObject({
      Privileged: false,
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 4096,
      RestartPolicy: { Name: 'no' },
    });
  });
  test('an init process where the engine has one', () => {
    expect(hostConfigOf().Init).toBe(true);
    expect(containerOptions(assignment(), { ...around, init: false }).HostConfig?.Init).toBe(false);
  });
  test('ports are published where the engine picks', () => {
    const options = optionsOf({
      ports: [
        { port: 80, protocol: 'tcp' },
        { port: 53, protocol: 'udp' },
      ],
    });
    expect(options.ExposedPorts).toEqual({ '80/tcp': {}, '53/udp': {} });
    expect(options.HostConfig?.PortBindings).toEqual({
      '80/tcp': [{ HostPort: '' }],
      '53/udp': [{ HostPort: '' }],
    });
  });
});
