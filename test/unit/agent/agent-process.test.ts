import { expect, test } from 'vitest';
import { lockFolder } from '../../../agent/host/data-folder-lock.ts';
import { startProgram } from '../../support/hosts/process.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

/** Starts an agent whose engine never answers. */
const startAgent = (folder: string, env: NodeJS.ProcessEnv = {}) => {
  const usual = { BERTH_JOIN_TOKEN: 'unused', DOCKER_HOST: 'unix:///nowhere' };
  return startProgram(['agent/main.ts'], { env: { BERTH_AGENT_DATA_DIR: folder, ...usual, ...env } });
};

test('H266: an agent whose settings only a person can repair ends with the exit code after which systemd does not restart it', async () => {
  const agent = startProgram(['agent/main.ts'], { env: { BERTH_URL: 'nowhere' } });
  expect(await agent.waitForEnd()).toBe(2);
  expect(agent.output).toContain('BERTH_URL must be a URL');
});

test('P90: a second agent on the same data folder ends with a message that names the holder, and the folder is free after the holder is killed', async () => {
  const folder = await testFolder();
  const first = startAgent(folder);
  await first.waitFor(/engine\.unreachable/);
  const second = startAgent(folder);
  expect(await second.waitForEnd()).toBe(2);
  expect(second.output).toMatch(
    new RegExp(`${folder}/local.*process ${first.pid} on .* since .*BERTH_AGENT_DATA_DIR`),
  );
  expect(second.output).not.toContain('engine.unreachable');
  await first.kill();
  const { signal } = new AbortController();
  (await lockFolder(`${folder}/local`, { log: () => {}, nowMs: () => 0, waitMs: 0, signal }))();
});

test('H831: an agent logs a misspelt setting with the name that was probably meant, and starts', async () => {
  const agent = startAgent(await testFolder(), { BERTH_AGENT_LABLES: 'gpu' });
  await agent.waitFor(/"event":"setting\.unknown","name":"BERTH_AGENT_LABLES","like":"BERTH_AGENT_LABELS"/);
  await agent.waitFor(/engine\.unreachable/);
  await agent.kill();
});
