/** What an application receives: environment and secrets. */
import { mkdir, rm } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  checkSecretEnvironment,
  checkSecretFiles,
  secretSettings,
} from '../../../support/engines/secret-check.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { scratchFolder } from '../../../support/tools/folder.ts';

let berth: Berth;
let workspaces: string;
const secrets = secretSettings();

beforeAll(async () => {
  workspaces = await scratchFolder('berth-workspaces-');
  await mkdir(`${workspaces}/admin`);
  const env = { ...secrets, BERTH_AGENT_WORKSPACE_ROOT: workspaces };
  berth = await startBerth({ deployment: 'e2e-application', env });
});
afterAll(async () => {
  await berth.close();
  await rm(workspaces, { recursive: true, force: true });
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

test('P220, P221, H579: a container has the values of secrets in its environment, and nothing that Berth writes has them', () =>
  checkSecretEnvironment(berth));

test('P224, H582: a container reads files with secrets from memory, also after restarts, and they go with it', () =>
  checkSecretFiles(berth, secrets.BERTH_AGENT_SECRETS_DIR, async () => {
    const pid = await berth.agentPid();
    process.kill(pid, 'SIGKILL');
    await eventually(async () => expect(await berth.agentPid()).not.toBe(pid));
  }));
