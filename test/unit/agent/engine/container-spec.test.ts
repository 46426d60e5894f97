import type { MountSettings } from 'dockerode';
import { describe, expect, test } from 'vitest';
import {
  containerOptions,
  nanoCpus,
  type Surroundings,
} from '../../../../agent/engine/docker/container-spec.ts';
import { label } from '../../../../agent/engine/labels.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const around: Surroundings = {
  deployment: 'blue',
  host: 'node1',
  network: 'net-id',
  mounts: [],
  bind: null,
  capabilities: [],
  etcFiles: 'read-only',
  memoryBytes: 8 * 2 ** 30,
  nanoCpus: 1.5e9,
  rotatedLogBytes: null,
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
      'berth.health': '',
      'berth.id-proof': 'proof',
      'berth.owner': 'bob',
      'berth.remark': '',
      'berth.cores.min': '0.5',
      'berth.cores.max': '2',
    });
  });
  test('P143: a label has the proof of the ids, so that no label of an image counts', () => {
    expect(optionsOf({ idProof: 'proof-of-5_7' }).Labels).toMatchObject({ 'berth.id-proof': 'proof-of-5_7' });
  });
  test('C80: the labels have 0.1 cores for a missing reservation, and no maximum if there is none', () => {
    expect(optionsOf().Labels).toMatchObject({ 'berth.cores.min': '0.1' });
    expect(optionsOf().Labels).not.toHaveProperty('berth.cores.max');
  });
});

describe('the output', () => {
  const driver = (rotatedLogBytes: number | null) =>
    containerOptions(assignment(), { ...around, rotatedLogBytes }).HostConfig?.LogConfig;

  test('P121: an engine whose files the agent cannot read keeps no more than the limit itself', () => {
    expect(driver(1000)).toEqual({
      Type: 'local',
      Config: { 'max-size': '500', 'max-file': '2', compress: 'false' },
    });
    expect(driver(null)?.Config).toMatchObject({ 'max-file': '1' });
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
  test('H738: the workspace is where the assignment has it, and no label of an assignment hides one of Berth', () => {
    const workspace = '/mnt/workspace';
    const mount: MountSettings = { Type: 'bind', Source: '/data/alice', Target: workspace };
    const labels = { zoe_type: 'app_service', [label.owner]: 'mallory' };
    const made = containerOptions(assignment({ workspace, labels, owner: 'alice' }), {
      ...around,
      mounts: [mount],
    });
    expect(made.Env?.slice(-2)).toEqual([`BERTH_WORKSPACE=${workspace}`, `ZOE_WORKSPACE=${workspace}`]);
    expect(made.Labels).toMatchObject({ zoe_type: 'app_service', [label.owner]: 'alice' });
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
  test.each<[string, number | null, number]>([
    ['of the assignment', 64e6, 64e6],
    ['of all that the host offers, if the assignment has none', null, 8 * 2 ** 30],
    ['of all that the host offers, for 0, which means no limit to the engine', 0, 8 * 2 ** 30],
    ['of all that the host offers, if the assignment has a higher one', 2 ** 40, 8 * 2 ** 30],
  ])('C199: a container has the memory limit %s', (_, memoryMaxBytes, limit) => {
    expect(hostConfigOf({ memoryMaxBytes })).toMatchObject({ Memory: limit, MemorySwap: limit });
  });
  test('C199: a container has at least the memory that it reserves, if the host offers less by now', () => {
    const reserved = { memoryMinBytes: 9 * 2 ** 30, memoryMaxBytes: 10 * 2 ** 30 };
    expect(hostConfigOf(reserved).Memory).toBe(9 * 2 ** 30);
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
  test('C80: CPU shares never exceed the maximum of the kernel', () => {
    expect(hostConfigOf({ coresMin: 256 }).CpuShares).toBe(262_144);
    expect(hostConfigOf({ coresMin: 1000 }).CpuShares).toBe(262_144);
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
  test('P107: a container is never privileged, gains no privileges, has a limit on processes, and is not restarted by the engine', () => {
    expect(hostConfigOf()).toMatchObject({
      Privileged: false,
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: 4096,
      RestartPolicy: { Name: 'no' },
    });
  });
  test('P107: a container has only the usual capabilities, and those that the settings add', () => {
    const { CapDrop, CapAdd } = hostConfigOf();
    expect(CapDrop).toEqual(['ALL']);
    const usual = 'CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETGID SETPCAP SETUID'.split(' ');
    expect(CapAdd).toEqual(usual);
    const { HostConfig } = containerOptions(assignment(), { ...around, capabilities: ['NET_RAW'] });
    expect(HostConfig?.CapAdd).toEqual([...usual, 'NET_RAW']);
  });
  test('P155: the files that the engine makes for /etc are read-only, unless the settings allow writing', () => {
    const files = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
    expect(hostConfigOf().ReadonlyPaths).toEqual(expect.arrayContaining(files));
    const { HostConfig } = containerOptions(assignment(), { ...around, etcFiles: 'writable' });
    expect(HostConfig).not.toHaveProperty('ReadonlyPaths');
  });
  test('P151: the engine runs no health check', () => {
    expect(optionsOf().Healthcheck).toEqual({ Test: ['NONE'] });
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
      '80/tcp': [{ HostIp: '', HostPort: '' }],
      '53/udp': [{ HostIp: '', HostPort: '' }],
    });
  });
  test('P290: a port that the host must not publish is exposed to other containers only', () => {
    const ports = [
      { port: 80, protocol: 'tcp' as const, publish: false as const },
      { port: 81, protocol: 'tcp' as const },
    ];
    const options = optionsOf({ ports });
    expect(options.ExposedPorts).toEqual({ '80/tcp': {}, '81/tcp': {} });
    expect(options.HostConfig?.PortBindings).toEqual({ '81/tcp': [{ HostIp: '', HostPort: '' }] });
    expect(options.HostConfig).not.toHaveProperty('PublishAllPorts');
  });
  test('P106: ports are published on the address of the settings', () => {
    const ports = [{ port: 80, protocol: 'tcp' as const }];
    const { HostConfig } = containerOptions(assignment({ ports }), { ...around, bind: '10.0.0.5' });
    expect(HostConfig?.PortBindings).toEqual({ '80/tcp': [{ HostIp: '10.0.0.5', HostPort: '' }] });
  });
});
