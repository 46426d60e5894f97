/** Health checks of containers on a real Docker engine. */
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Container, Engine } from '../../../agent/engine/engine.ts';
import type { HealthCheck } from '../../../shared/protocol/health.ts';
import { dockerRig } from '../../support/engines/docker-rig.ts';
import { eventually } from '../../support/tools/eventually.ts';

const { docker, engine, run } = dockerRig('health');

const frame = { intervalMs: 1_000, timeoutMs: 1_000, retries: 1, startPeriodMs: 0 };
const http = (path: string): HealthCheck => ({ ...frame, kind: 'http', port: 8080, path });
const tcp: HealthCheck = { ...frame, kind: 'tcp', port: 8080 };
/** The engine of a busy machine takes its time to begin a command. */
const patient = { ...frame, timeoutMs: 20_000 };
const sh = (script: string): HealthCheck => ({ ...patient, kind: 'command', words: ['sh', '-c', script] });
const shell = (script: string) => ({ command: ['sh', '-c', script] });
const idle = shell('sleep 1000');
const SERVER = 'mkdir -p /tmp/www/inner && echo ok >/tmp/www/ok && exec httpd -f -p 8080 -h /tmp/www';

/** Waits until the container has this health, and returns its detail. */
async function detailOf(
  { id }: Pick<Container, 'id'>,
  state: string,
  on: Engine = engine(),
): Promise<string> {
  const health = await eventually(async () => {
    const container = await on.inspect(id);
    const found = container?.state === 'running' ? container.health : undefined;
    return found?.state === state && found.detail !== '' ? found : undefined;
  });
  return health?.detail ?? '';
}

describe('P211: checks by HTTP and TCP', () => {
  test('P211: a check by HTTP requests the path at the address of the container, and does not follow a redirect', async () => {
    const startPeriodMs = 60_000;
    const served = await run({ ...shell(SERVER), health: { ...http('/ok'), startPeriodMs } });
    expect(await detailOf(served, 'healthy')).toBe('GET /ok on port 8080: status 200');
    const moved = await run({ service: 2, ...shell(SERVER), health: { ...http('/inner'), startPeriodMs } });
    expect(await detailOf(moved, 'healthy')).toBe('GET /inner on port 8080: status 302');
    const missing = await run({ service: 3, ...shell(SERVER), health: { ...http('/none'), retries: 3 } });
    // Without a start period, checks before the server listens count as well.
    const found = 'GET /none on port 8080: status 404';
    await eventually(async () => (await detailOf(missing, 'unhealthy')) === found);
  });
  test('P211: a check by TCP needs an open port; the watcher learns of each change, and listings show it', async () => {
    const changes: string[] = [];
    const { ended, close } = await engine().watch((id) => changes.push(id));
    const script = 'while [ ! -e /tmp/open ]; do sleep 0.1; done; exec httpd -f -p 8080 -h /tmp';
    const container = await run({ ...shell(script), health: { ...tcp, startPeriodMs: 60_000 } });
    expect(await detailOf(container, 'starting')).toBe('port 8080: the connection was refused');
    const exec = await docker.getContainer(container.id).exec({ Cmd: ['touch', '/tmp/open'] });
    await exec.start({ Detach: true });
    expect(await detailOf(container, 'healthy')).toBe('port 8080: open');
    expect(changes).toContain(container.id);
    expect(await engine().list()).toMatchObject([{ id: container.id, health: 'healthy' }]);
    close();
    await ended;
  });
});

describe('P212: checks by a command', () => {
  test('P212: a command is judged by its exit code, and the beginning of its output is reported', async () => {
    const good = await run({ ...idle, health: sh('exit 0') });
    const bad = await run({ service: 2, ...idle, health: sh('echo no database; seq 100000; exit 3') });
    const missing = await run({
      service: 3,
      ...idle,
      health: { ...patient, kind: 'command', words: ['/no/such'] },
    });
    expect(await detailOf(good, 'healthy')).toBe('the command ended with exit code 0');
    const detail = await detailOf(bad, 'unhealthy');
    expect(detail).toMatch(/^the command ended with exit code 3: no database 1 2 3 /);
    expect(detail.length).toBeLessThan(300);
    expect(await detailOf(missing, 'unhealthy')).toMatch(/cannot be run|no such file/);
  });
  const late: HealthCheck = {
    ...{ ...frame, kind: 'command', retries: 2 },
    words: ['sh', '-c', 'sleep 555 & sleep 556; true'],
  };
  const sleepersIn = async ({ id }: Pick<Container, 'id'>): Promise<number> => {
    const { Processes } = await docker.getContainer(id).top();
    return Processes.filter((process: string[]) => process.at(-1)?.startsWith('sleep 55')).length;
  };
  test('P212: a command that does not end in time fails, and is ended with all that it has started', async () => {
    const container = await run({ ...idle, health: { ...late, intervalMs: 60_000 } });
    expect(await detailOf(container, 'starting')).toBe('the command did not end within 1 s');
    await eventually(async () => (await sleepersIn(container)) === 0);
  });
  test('P306: what a command leaves behind in the container is ended with it, in whatever session it is', async () => {
    const leaves =
      'sleep 551 & setsid sleep 552 & (setsid sh -c "sleep 553 & sleep 554" &) ; exec >&- 2>&-; exit';
    const endings = { passed: `${leaves} 0`, failed: `${leaves} 3` };
    const service = { command: ['sh', '-c', 'sleep 600 & setsid sleep 601 & exec sleep 1000'] };
    for (const [at, [result, script]] of Object.entries(endings).entries()) {
      const container = await run({
        service: at + 1,
        ...service,
        health: { ...sh(script), intervalMs: 60_000 },
      });
      expect(await detailOf(container, result === 'passed' ? 'healthy' : 'unhealthy')).toContain('exit code');
      await eventually(async () => (await sleepersIn(container)) === 0);
      const { Processes } = await docker.getContainer(container.id).top();
      const own = Processes.filter((process: string[]) =>
        /^sleep (600|601|1000)$/.test(process.at(-1) ?? ''),
      );
      expect(own).toHaveLength(3);
    }
  });
  test("P212: the check of an image runs when it is asked for, with the description's times", async () => {
    const from = await docker.createContainer({ Image: 'berth/busybox:1', Cmd: ['true'] });
    await from.commit({
      repo: 'berth/health-test',
      tag: '1',
      changes: 'HEALTHCHECK --interval=1h CMD echo from the image',
    });
    await from.remove();
    onTestFinished(() => docker.getImage('berth/health-test:1').remove({ force: true }));
    const image = { image: 'berth/health-test:1', ...idle };
    const container = await run({ ...image, health: { ...patient, kind: 'image' } });
    expect(await detailOf(container, 'healthy')).toBe('the command ended with exit code 0: from the image');
    const unasked = await run({ service: 2, ...image });
    expect((await docker.getContainer(unasked.id).inspect()).State.Health).toBeUndefined();
    expect(unasked).not.toHaveProperty('health');
  });
});
