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
  test('the container, its host name and its alias are the name of the assignment', () => {
    const options = optionsOf({ name: 'web0-7-blue' });
    expect(options).toMatchObject({ name: 'web0-7-blue', Hostname: 'web0-7-blue' });
    expect(options.NetworkingConfig?.EndpointsConfig).toEqual({ 'net-id': { Aliases: ['web0-7-blue'] } });
  });
  test('the host name is cut to the length that the kernel accepts', () => {
    expect(optionsOf({ name: `${'a'.repeat(62)}-7-blue` }).Hostname).toBe('a'.repeat(62));
  });
  test('the labels identify the service and its owner', () => {
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
  test('C80: the labels have 0.1 cores for a missing reservation, and no maximum if there is none', () => {
    expect(optionsOf().Labels).toMatchObject({ 'berth.cores.min': '0.1' });
    expect(optionsOf().Labels).not.toHaveProperty('berth.cores.max');
  });
});

describe('the process', () => {
  test('without a command the image runs its own', () => {
    expect(optionsOf({ command: null })).not.toHaveProperty('Cmd');
  });
  test('a command is passed word by word, and the entry point stays', () => {
    const options = optionsOf({ command: ['echo', 'a b'] });
    expect(options.Cmd).toEqual(['echo', 'a b']);
    expect(options).not.toHaveProperty('Entrypoint');
  });
  test('a later environment variable of the same name wins', () => {
    const environment: [string, string][] = [
      ['A', '1'],
      ['B', ''],
      ['A', '2'],
    ];
    expect(optionsOf({ environment }).Env).toEqual(['A=2', 'B=']);
  });
  test('the workspace variables are set only if this host has the workspace', () => {
    const mount: MountSettings = { Type: 'bind', Source: '/data/alice', Target: '/workspace' };
    const environment: [string, string][] = [['A', '1']];
    const { Env } = containerOptions(assignment({ environment }), { ...around, mounts: [mount] });
    expect(Env).toEqual(['A=1', 'BERTH_WORKSPACE=/workspace', 'ZOE_WORKSPACE=/workspace']);
  });
  test('the working folder is set only if the assignment has one', () => {
    expect(optionsOf({ workDir: '/srv' }).WorkingDir).toBe('/srv');
    expect(optionsOf()).not.toHaveProperty('WorkingDir');
  });
});

describe('limits', () => {
  test('memory has a soft limit from min and a hard limit from max, without swap beyond it', () => {
    expect(hostConfigOf({ memoryMinBytes: 64e6, memoryMaxBytes: 128e6 })).toMatchObject({
      MemoryReservation: 64e6,
      Memory: 128e6,
      MemorySwap: 128e6,
    });
  });
  test('memory without a max is limited to the memory of the host', () => {
    expect(hostConfigOf().Memory).toBe(8 * 2 ** 30);
  });
  test('a soft limit below the minimum of the engine is omitted', () => {
    expect(hostConfigOf({ memoryMinBytes: 1e6 })).not.toHaveProperty('MemoryReservation');
  });
  test('cores become 1024 shares per core of min, and the given limit', () => {
    expect(hostConfigOf({ coresMin: 1.5, coresMax: 2 })).toMatchObject({ CpuShares: 1536, NanoCpus: 1.5e9 });
  });
  test('CPU shares never fall below the minimum of the kernel', () => {
    expect(hostConfigOf({ coresMin: 0 }).CpuShares).toBe(2);
  });
  test('cores are limited to those of the engine', () => {
    expect(nanoCpus(64, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: true })).toBe(4e9);
  });
  test('C162: no limit is sent to an engine that cannot limit CPU, which would refuse it', () => {
    const none = nanoCpus(1, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: false });
    const { HostConfig } = containerOptions(assignment({ coresMin: 1 }), { ...around, nanoCpus: none });
    expect(HostConfig).toMatchObject({ CpuShares: 1024 });
    expect(HostConfig).not.toHaveProperty('NanoCpus');
  });
  test('shared memory is set only if the assignment has it', () => {
    expect(hostConfigOf({ shmBytes: 1e6 }).ShmSize).toBe(1e6);
    expect(hostConfigOf()).not.toHaveProperty('ShmSize');
  });
});

describe('isolation', () => {
  test('a container is never privileged, gains no privileges, has a limit on processes, and is not restarted by the engine', () => {
    expect(hostConfigOf()).toMatchObject({
      Privileged: false,
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 4096,
      RestartPolicy: { Name: 'no' },
    });
  });
  test('a container gets an init process if the engine has one', () => {
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
