import type { MountSettings } from 'dockerode';
import { expect, test } from 'vitest';
import {
  containerOptions,
  nanoCpus,
  type Surroundings,
} from '../../../../agent/engine/docker/container-spec.ts';
import { label } from '../../../../agent/engine/labels.ts';
import type { Assignment } from '../../../../shared/protocol/assignment.ts';
import { assignment } from '../../../support/fixtures/assignments.ts';

const GIB = 2 ** 30;
const around: Surroundings = {
  deployment: 'blue',
  host: 'node1',
  network: 'net-id',
  mounts: [],
  bind: null,
  capabilities: [],
  etcFiles: 'read-only',
  memoryBytes: 8 * GIB,
  nanoCpus: 1.5e9,
  rotatedLogBytes: null,
  init: true,
};
const optionsOf = (changes: Partial<Assignment> = {}, at: Partial<Surroundings> = {}) =>
  containerOptions(assignment(changes), { ...around, ...at });
const hostConfigOf = (changes: Partial<Assignment> = {}, at: Partial<Surroundings> = {}) =>
  optionsOf(changes, at).HostConfig ?? {};

test('the container, its host name and its alias are the name of the assignment, cut to what the kernel accepts', () => {
  const options = optionsOf({ name: 'web0-7-blue' });
  expect(options).toMatchObject({ name: 'web0-7-blue', Hostname: 'web0-7-blue' });
  expect(options.NetworkingConfig?.EndpointsConfig).toEqual({ 'net-id': { Aliases: ['web0-7-blue'] } });
  expect(optionsOf({ name: `${'a'.repeat(62)}-7-blue` }).Hostname).toBe('a'.repeat(62));
});
test('C80, P143: the labels identify the service and its owner, with the proof of the ids and the claim on cores', () => {
  const changes = { service: 5, execution: 7, generation: 2, owner: 'bob', idProof: 'proof-of-5_7' };
  expect(optionsOf({ ...changes, coresMin: 0.5, coresMax: 2 }).Labels).toEqual({
    'berth.deployment': 'blue',
    'berth.host': 'node1',
    'berth.execution': '7',
    'berth.service': '5',
    'berth.generation': '2',
    'berth.health': '',
    'berth.id-proof': 'proof-of-5_7',
    'berth.owner': 'bob',
    'berth.remark': '',
    'berth.cores.min': '0.5',
    'berth.cores.max': '2',
  });
  expect(optionsOf().Labels).toMatchObject({ 'berth.cores.min': '0.1' });
  expect(optionsOf().Labels).not.toHaveProperty('berth.cores.max');
});
test('P121: an engine whose files the agent cannot read keeps no more output than the limit itself', () => {
  expect(hostConfigOf({}, { rotatedLogBytes: 1000 }).LogConfig).toEqual({
    Type: 'local',
    Config: { 'max-size': '500', 'max-file': '2', compress: 'false' },
  });
  expect(hostConfigOf().LogConfig?.Config).toMatchObject({ 'max-file': '1' });
});

test('a command is passed word by word, and the entry point stays; without one the image runs its own', () => {
  const options = optionsOf({ command: ['echo', 'a b'], workDir: '/srv' });
  expect(options).toMatchObject({ Cmd: ['echo', 'a b'], WorkingDir: '/srv' });
  expect(options).not.toHaveProperty('Entrypoint');
  expect(optionsOf({ command: null })).not.toHaveProperty('Cmd');
  expect(optionsOf()).not.toHaveProperty('WorkingDir');
});
test('H738: a later environment variable of the same name wins, and the workspace is named only where this host has it', () => {
  const environment: [string, string][] = [
    ['A', '1'],
    ['B', ''],
    ['A', '2'],
  ];
  expect(optionsOf({ environment }).Env).toEqual(['A=2', 'B=']);
  for (const workspace of ['/workspace', '/mnt/workspace']) {
    const mount: MountSettings = { Type: 'bind', Source: '/data/alice', Target: workspace };
    const changes = workspace === '/workspace' ? { environment } : { environment, workspace };
    const variables = [`BERTH_WORKSPACE=${workspace}`, `ZOE_WORKSPACE=${workspace}`];
    expect(optionsOf(changes, { mounts: [mount] }).Env).toEqual(['A=2', 'B=', ...variables]);
  }
});
test('H738: no label of an assignment hides one of Berth', () => {
  const labels = { zoe_type: 'app_service', [label.owner]: 'mallory' };
  const expected = { zoe_type: 'app_service', [label.owner]: 'alice' };
  expect(optionsOf({ labels, owner: 'alice' }).Labels).toMatchObject(expected);
});

test('memory has a soft limit from min and a hard one from max without swap; shared memory is set only if wanted', () => {
  expect(hostConfigOf({ memoryMinBytes: 64e6, memoryMaxBytes: 128e6 })).toMatchObject({
    MemoryReservation: 64e6,
    Memory: 128e6,
    MemorySwap: 128e6,
  });
});
test.each<[string, Partial<Assignment>, number]>([
  ['of the assignment', { memoryMaxBytes: 64e6 }, 64e6],
  ['of all that the host offers, if the assignment has none', { memoryMaxBytes: null }, 8 * GIB],
  ['of all that the host offers, for 0, no limit to the engine', { memoryMaxBytes: 0 }, 8 * GIB],
  ['of all that the host offers, if that is less', { memoryMaxBytes: 2 ** 40 }, 8 * GIB],
  ['that it reserves, if that is more', { memoryMinBytes: 9 * GIB, memoryMaxBytes: 10 * GIB }, 9 * GIB],
])('C199: a container has the memory limit %s', (_, changes, limit) => {
  expect(hostConfigOf(changes)).toMatchObject({ Memory: limit, MemorySwap: limit });
  expect(hostConfigOf({ memoryMinBytes: 1e6 })).not.toHaveProperty('MemoryReservation');
  expect(hostConfigOf({ shmBytes: 1e6 }).ShmSize).toBe(1e6);
  expect(hostConfigOf()).not.toHaveProperty('ShmSize');
});
test('C80: cores become 1024 shares per core of min, within the bounds of the kernel, and the given limit', () => {
  expect(hostConfigOf({ coresMin: 1.5, coresMax: 2 })).toMatchObject({ CpuShares: 1536, NanoCpus: 1.5e9 });
  const shares = [0, 256, 1000].map((coresMin) => hostConfigOf({ coresMin }).CpuShares);
  expect(shares).toEqual([2, 262_144, 262_144]);
});
test('C162: cores are limited to those of the engine, and none to one that cannot limit CPU, which would refuse it', () => {
  expect(nanoCpus(64, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: true })).toBe(4e9);
  const none = nanoCpus(1, { NCPU: 4, CpuCfsPeriod: true, CpuCfsQuota: false });
  const config = hostConfigOf({ coresMin: 1 }, { nanoCpus: none });
  expect(config).toMatchObject({ CpuShares: 1024 });
  expect(config).not.toHaveProperty('NanoCpus');
});

test('P107: a container is never privileged nor restarted, and has only the usual capabilities and those of the settings', () => {
  expect(hostConfigOf()).toMatchObject({
    Privileged: false,
    SecurityOpt: ['no-new-privileges'],
    PidsLimit: 4096,
    RestartPolicy: { Name: 'no' },
  });
  const { CapDrop, CapAdd } = hostConfigOf();
  expect(CapDrop).toEqual(['ALL']);
  const usual = 'CHOWN DAC_OVERRIDE FOWNER FSETID KILL NET_BIND_SERVICE SETGID SETPCAP SETUID'.split(' ');
  expect(CapAdd).toEqual(usual);
  expect(hostConfigOf({}, { capabilities: ['NET_RAW'] }).CapAdd).toEqual([...usual, 'NET_RAW']);
});
test('P155: the files that the engine makes for /etc are read-only, unless the settings allow writing', () => {
  const files = ['/etc/hosts', '/etc/hostname', '/etc/resolv.conf'];
  expect(hostConfigOf().ReadonlyPaths).toEqual(expect.arrayContaining(files));
  expect(hostConfigOf({}, { etcFiles: 'writable' })).not.toHaveProperty('ReadonlyPaths');
});
test('P151: the engine runs no health check, and an init process if it has one', () => {
  expect(optionsOf().Healthcheck).toEqual({ Test: ['NONE'] });
  expect([hostConfigOf().Init, hostConfigOf({}, { init: false }).Init]).toEqual([true, false]);
});
test('P106, P290: ports are published on the address of the settings, where the engine picks, or exposed to other containers only', () => {
  const ports: Assignment['ports'] = [
    { port: 80, protocol: 'tcp', publish: false },
    { port: 81, protocol: 'tcp' },
    { port: 53, protocol: 'udp' },
  ];
  for (const bind of [null, '10.0.0.5']) {
    const { ExposedPorts, HostConfig } = optionsOf({ ports }, { bind });
    expect(ExposedPorts).toEqual({ '80/tcp': {}, '81/tcp': {}, '53/udp': {} });
    const published = [{ HostIp: bind ?? '', HostPort: '' }];
    expect(HostConfig?.PortBindings).toEqual({ '81/tcp': published, '53/udp': published });
    expect(HostConfig).not.toHaveProperty('PublishAllPorts');
  }
});
