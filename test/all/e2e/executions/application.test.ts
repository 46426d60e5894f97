import { mkdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  checkSecretEnvironment,
  checkSecretFiles,
  secretSettings,
} from '../../../support/engines/secret-check.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, PASSWORD, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { suiteFolder } from '../../../support/tools/test-folder.ts';

let berth: Berth;
const workspaces = suiteFolder();
const secrets = secretSettings();

beforeAll(async () => {
  await mkdir(`${workspaces}/admin`);
  const env = { ...secrets, BERTH_AGENT_WORKSPACE_ROOT: workspaces };
  berth = await startBerth({ deployment: 'e2e-application', env });
  // Many tests run at once.
  await berth.api.removeQuotaLimits();
});
afterAll(async () => {
  await berth.close();
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
      expect.stringMatching(/^ZOE_UID=\d{4,}$/),
      'ZOE_WORKSPACE=/workspace',
    ]),
  );
  expect(lines.slice(-3)).toEqual(['/tmp', `main0-${id}-e2e-application`, '']);
});

test('P220, P221, H579: a container has the values of secrets in its environment, and nothing that Berth writes has them', () =>
  checkSecretEnvironment(berth));

test('P224, H582: a container reads files with secrets from memory, also after restarts, and they go with it', () =>
  checkSecretFiles(berth, secrets.BERTH_AGENT_SECRETS_DIR, async () => {
    const pid = await berth.agentPid();
    process.kill(pid, 'SIGKILL');
    await eventually(async () => expect(await berth.agentPid()).not.toBe(pid));
  }));

test.concurrent('C14: a process that ignores SIGTERM is killed after 10 s', async () => {
  const { api } = berth;
  const id = await api.run(application(script('trap "" TERM; while true; do sleep 1; done')));
  const sinceS = Date.now() / 1_000;
  await api.terminate(id);
  expect((await api.execution(id)).status).toBe('cleaning up');
  const { time_end } = await api.waitFor(id, 'terminated');
  // Compared with the control plane's time, since a busy engine takes seconds to remove a container.
  expect(Number(time_end) - sinceS).toBeGreaterThan(9.5);
  expect(await berth.containersOf(id)).toEqual([]);
});

test('H272: the environment of the local agent has no credentials of the control plane', async () => {
  const environmentOf = async (pid: number) => (await readFile(`/proc/${pid}/environ`, 'utf8')).split('\0');
  expect(await environmentOf(berth.program.pid)).toContain(`BERTH_ADMIN_PASSWORD=${PASSWORD}`);
  const agents = await environmentOf(await berth.agentPid());
  expect(agents).toContain('BERTH_DEPLOYMENT_NAME=e2e-application');
  expect(
    agents.filter((line) => /^BERTH_(ADMIN|DATABASE|METRICS|OIDC_CLIENT_SECRET|SECRET_KEYS)/.test(line)),
  ).toEqual([]);
});
