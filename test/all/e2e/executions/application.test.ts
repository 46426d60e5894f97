/** What an application receives: environment, limits, folders, secrets. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  checkSecretEnvironment,
  checkSecretFiles,
  secretSettings,
} from '../../../support/engines/secret-check.ts';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

const MIB = 2 ** 20;
let berth: Berth;
let volumes: string;
const secrets = secretSettings();

beforeAll(async () => {
  volumes = await scratchFolder('berth-volumes-');
  await mkdir(`${volumes}/admin`);
  const folders = { BERTH_AGENT_VOLUME_ROOTS: volumes, BERTH_AGENT_WORKSPACE_ROOT: volumes };
  const env = { ...folders, ...secrets };
  berth = await startBerth({ deployment: 'e2e-application', env });
});

afterAll(async () => {
  await berth.close();
  await rm(volumes, { recursive: true, force: true });
});

test('C24: a container has the whole environment, with the variables of the description replaced', async () => {
  const { api } = berth;
  const environment: [string, string][] = [
    ['SELF', '{dns_name#self}'],
    ['OTHER', '{dns_name#main0}:80'],
    ['OWNER', '{user_name}/{execution_name}/{execution_id}/{deployment_name}'],
    ['LITERAL', '{{user_name}} {"a": {}}'],
    ['SPACES', ' two  words '],
  ];
  const id = await api.submit(application(script('env; pwd; hostname', { environment, work_dir: '/tmp' })));
  await api.waitFor(id, 'terminated');
  const lines = (await api.logText(id)).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      `SELF=main0-${id}-e2e-application`,
      `OTHER=main0-${id}-e2e-application:80`,
      `OWNER=admin/test-application/${id}/e2e-application`,
      'LITERAL={user_name} {"a": {}}',
      'SPACES= two  words ',
      `EXECUTION_ID=${id}`,
      'EXECUTION_NAME=test-application',
      'DEPLOY_NAME=e2e-application',
      'SERVICE_NAME=main0',
      'BERTH_USER=admin',
      'BERTH_UID=1',
      'BERTH_WORKSPACE=/workspace',
      'ZOE_USER=admin',
      'ZOE_UID=1',
      'ZOE_WORKSPACE=/workspace',
    ]),
  );
  expect(lines.slice(-3)).toEqual(['/tmp', `main0-${id}-e2e-application`, '']);
});

test('a container has the limits, labels, volume and workspace of its description', async () => {
  const { api, docker } = berth;
  const id = await api.submit(
    application(
      service({
        command: 'sleep 100',
        resources: {
          memory: { min: 16 * MIB, max: 32 * MIB },
          cores: { min: 0.5, max: 1.5 },
          shm: 8 * MIB,
        },
        volumes: [{ name: 'data', path: volumes, read_only: true }],
      }),
    ),
  );
  await api.waitFor(id, 'running');
  const [info] = await berth.containersOf(id);
  const { HostConfig, Config, Mounts } = await docker.getContainer(String(info?.Id)).inspect();
  const { services } = await api.execution(id);
  expect(HostConfig).toMatchObject({
    Memory: 32 * MIB,
    MemorySwap: 32 * MIB,
    MemoryReservation: 16 * MIB,
    CpuShares: 512,
    NanoCpus: 1.5e9,
    ShmSize: 8 * MIB,
  });
  expect(Config.Labels).toMatchObject({
    'berth.deployment': 'e2e-application',
    'berth.execution': String(id),
    'berth.service': String(services[0]),
    'berth.generation': '1',
    'berth.owner': 'admin',
  });
  expect(Mounts.map(({ Destination, Type }) => [Destination, Type]).sort()).toEqual([
    ['/mnt/data', 'volume'],
    ['/workspace', 'volume'],
  ]);
  const written = await docker.getContainer(String(info?.Id)).exec({
    Cmd: ['sh', '-c', '! touch /mnt/data/new && touch /workspace/new'],
  });
  await written.start({});
  await eventually(async () => (await written.inspect()).ExitCode === 0);
  expect(await readdir(`${volumes}/admin`)).toEqual(['new']);
  await api.terminate(id);
  await api.waitFor(id, 'terminated');
});

test('P220, P221, H579: a container has the values of secrets in its environment, and nothing that Berth writes has them', () =>
  checkSecretEnvironment(berth));

test('P224, H582: a container reads files with secrets from memory, also after restarts, and they go with it', () =>
  checkSecretFiles(berth, secrets.BERTH_AGENT_SECRETS_DIR, async () => {
    const pid = await berth.agentPid();
    process.kill(pid, 'SIGKILL');
    await eventually(async () => expect(await berth.agentPid()).not.toBe(pid), 30_000);
  }));
