import { createServer } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { checkHost, clockFinding, type EngineInfo, engineFindings } from '../../../../agent/host/check.ts';
import { serving } from '../../../support/tools/serving.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

const engine: EngineInfo = {
  OSType: 'linux',
  Driver: 'overlay2',
  KernelVersion: '6.1.0',
  MemoryLimit: true,
  CpuCfsQuota: true,
  PidsLimit: true,
  DockerRootDir: '/var/lib/docker',
};

test('H263: an engine without faults gives no finding', () => {
  for (const version of ['1.41', '1.54', '1.100']) expect(engineFindings(version, engine)).toEqual([]);
});

const noMemory = /kernel \(6\.1\.0\) cannot limit memory: .*cgroup_enable=memory/;
test.each([
  ['1.40', {}, 'problem', /older than Docker 20\.10 .*update it/],
  ['1.9', {}, 'problem', /older than Docker 20\.10/],
  ['1.43', { OSType: 'windows' }, 'problem', /runs windows containers/],
  ['1.43', { MemoryLimit: false }, 'warning', noMemory],
  ['1.43', { CpuCfsQuota: false }, 'warning', /cannot limit CPU cores/],
  ['1.43', { PidsLimit: false }, 'warning', /cannot limit processes/],
  ['1.43', { Driver: 'vfs' }, 'warning', /no overlay file system/],
] as const)('H263: an engine with API %s and %o gives a %s', (version, fault, level, text) => {
  const findings = engineFindings(version, { ...engine, ...fault });
  expect(findings).toEqual([{ level, text: expect.stringMatching(text) }]);
});

test('H263, H264: a difference of clocks beyond 5 s is reported, and beyond 30 s a host does not join, unless that is allowed', () => {
  const nowMs = Date.parse('2026-11-21T12:00:00Z');
  const found = (aheadMs: number, anyClock = false) =>
    clockFinding({ sentMs: nowMs, receivedMs: nowMs + 40, theirMs: nowMs - aheadMs }, anyClock);
  // A header has whole seconds.
  for (const aheadMs of [0, 4_900, -5_000]) expect(found(aheadMs).level).toBe('ok');
  const of = (level: string, text: string) => ({ level, text: expect.stringContaining(text) });
  expect(found(12_000)).toEqual(of('warning', '12 s ahead of the control'));
  expect(found(-12_000)).toEqual(of('warning', '12 s behind the control'));
  expect(found(31_000)).toEqual(of('problem', 'BERTH_ANY_CLOCK=1'));
  expect(found(31_000, true).level).toBe('warning');
});

/** Answers as an engine at a socket, and as a control plane whose clock is behind by `behindMs`. */
async function machine({ apiVersion = '1.54', behindMs = 0, status = 200 } = {}) {
  const folder = await testFolder();
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/healthz' ? status : 200;
    response.setHeader('date', new Date(Date.now() - behindMs).toUTCString());
    const isInfo = request.url?.endsWith('/info');
    response.end(JSON.stringify(isInfo ? engine : { Version: '29.1', ApiVersion: apiVersion }));
  });
  const sockets = createServer((request, response) => void server.emit('request', request, response));
  await new Promise<void>((done) => sockets.listen(`${folder}/engine.sock`, done));
  onTestFinished(() => {
    sockets.closeAllConnections();
    sockets.close();
  });
  return {
    BERTH_URL: `http://127.0.0.1:${await serving(server)}`,
    BERTH_AGENT_DATA_DIR: `${folder}/data`,
    BERTH_LIMITS: JSON.stringify({ minDiskBytes: 0 }),
    DOCKER_HOST: `unix://${folder}/engine.sock`,
  };
}

test('H263: a machine without faults passes, and each fault is named by its level', async () => {
  const env = await machine();
  const lines = (text: string) => text.split('\n').filter(Boolean);
  const found = lines(await checkHost(env));
  expect(found).toEqual([
    `  ok       Docker 29.1 at ${env.DOCKER_HOST}`,
    `  ok       The control plane answers at ${env.BERTH_URL}/`,
    "  ok       The clock agrees with the control plane's",
  ]);
  const away = 'http://127.0.0.1:1';
  const two = lines(await checkHost({ ...env, BERTH_URL: `${away},${env.BERTH_URL}` }));
  expect(two[1]).toMatch(/^ {2}warning {2}http:\/\/127\.0\.0\.1:1\/healthz cannot be reached: ./);
  expect(two[2]).toBe(found[1]);
  await expect(checkHost({ ...env, BERTH_URL: away })).rejects.toThrow(/problem .*cannot be reached/);
  const none = checkHost({ ...env, DOCKER_HOST: `${env.DOCKER_HOST}.none` });
  await expect(none).rejects.toThrow(/problem {2}No Docker engine answers at .*\.none/);
  await expect(checkHost({ ...env, BERTH_LIMITS: '{"minDiskBytes": "1024TiB"}' })).resolves.toMatch(
    /warning {2}Disk space is low: .* GiB free at/,
  );
});

test('H263, H264: an old engine, a clock that is far off and a control plane that refuses are problems', async () => {
  await expect(checkHost(await machine({ apiVersion: '1.40' }))).rejects.toThrow('older than Docker 20.10');
  await expect(checkHost(await machine({ status: 503 }))).rejects.toThrow('the answer is 503');
  const env = await machine({ behindMs: 60_000 });
  await expect(checkHost(env)).rejects.toThrow(/The clock is \d+ s ahead of/);
  expect(await checkHost({ ...env, BERTH_ANY_CLOCK: '1' })).toContain('warning  The clock is');
});
