import { expect, test } from 'vitest';
import { readConfig } from '../../../agent/config.ts';
import { lockFolder } from '../../../agent/host/data-folder-lock.ts';
import { machine } from '../../support/agents/agent-rig.ts';
import { startProgram } from '../../support/hosts/process.ts';
import { testFolder } from '../../support/tools/test-folder.ts';

test('H266: an agent whose settings only a person can repair ends with the exit code after which systemd does not restart it', async () => {
  const agent = startProgram(['agent/main.ts'], { env: { BERTH_URL: 'nowhere' } });
  expect(await agent.waitForEnd()).toBe(2);
  expect(agent.output).toContain('BERTH_URL must be a URL');
});

test('P141: an agent connects to another machine by http only if its settings allow it', () => {
  expect(() => readConfig({ BERTH_URL: 'http://192.0.2.1:5001' }, machine)).toThrow(
    /BERTH_URL=http:\/\/192\.0\.2\.1:5001\/ is on another machine.*BERTH_AGENT_WITHOUT=encryption/,
  );
  for (const [url, without] of [
    ['http://192.0.2.1:5001', 'encryption'],
    ['https://192.0.2.1', ''],
    ['http://127.0.0.1:5001', ''],
    ['http://[::1]:5001', ''],
    ['http://localhost:5001', ''],
  ])
    expect(readConfig({ BERTH_URL: url, BERTH_AGENT_WITHOUT: without }, machine).urls.join()).toContain(url);
});

test('P90: a second agent on the same data folder ends with a message that names the holder, and the folder is free after the holder is killed', async () => {
  const folder = await testFolder();
  const env = { BERTH_AGENT_DATA_DIR: folder, BERTH_JOIN_TOKEN: 'unused', DOCKER_HOST: 'unix:///nowhere' };
  const agent = () => startProgram(['agent/main.ts'], { env });
  const first = agent();
  await first.waitFor(/engine\.unreachable/);
  const second = agent();
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
  const agent = startProgram(['agent/main.ts'], {
    env: {
      BERTH_AGENT_DATA_DIR: await testFolder(),
      BERTH_AGENT_LABLES: 'gpu',
      BERTH_JOIN_TOKEN: 'unused',
      DOCKER_HOST: 'unix:///nowhere.sock',
    },
  });
  await agent.waitFor(/"event":"setting\.unknown","name":"BERTH_AGENT_LABLES","like":"BERTH_AGENT_LABELS"/);
  await agent.waitFor(/engine\.unreachable/);
  await agent.kill();
});
