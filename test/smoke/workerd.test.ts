/** Berth on workerd with an agent on a real engine: an application before, during and after a sleep. */
import { rm } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiClient } from '../support/clients/api-client.ts';
import { testEngine } from '../support/engines/engine.ts';
import { removeDeployment } from '../support/engines/leftovers.ts';
import { application, script } from '../support/fixtures/descriptions.ts';
import { ADMIN_PASSWORD } from '../support/hosts/hosts.ts';
import { type Program, startProgram } from '../support/hosts/process.ts';
import { type MortalHost, startMortalHost } from '../support/hosts/workerd/host-mortal.ts';
import { eventually } from '../support/tools/eventually.ts';
import { scratchFolder } from '../support/tools/folder.ts';

const DEPLOYMENT = 'e2e-smoke-workerd';
/** Only what hangs takes as long. */
const HANGS_MS = 120_000;
/** The runtime lets a gateway sleep that has had no work for 10 s. */
const RESTS_MS = 12_000;

let host: MortalHost;
let agent: Program;
let api: ApiClient;
let dataDir: string;

beforeAll(async () => {
  dataDir = await scratchFolder('berth-smoke-');
  host = await startMortalHost({}, DEPLOYMENT);
  api = new ApiClient(host.url(), 'admin', ADMIN_PASSWORD);
  agent = startProgram(['agent/main.ts'], {
    env: {
      BERTH_URL: host.url(),
      BERTH_JOIN_TOKEN: await api.joinToken(),
      BERTH_DEPLOYMENT_NAME: DEPLOYMENT,
      BERTH_DATA_DIR: dataDir,
    },
  });
  await agent.waitFor(/session\.synced/, HANGS_MS);
});
afterAll(async () => {
  await agent?.stop();
  await host?.stop();
  await rm(dataDir, { recursive: true, force: true });
  expect(await removeDeployment(await testEngine(), DEPLOYMENT)).toEqual([]);
});

const countIn = (output: string, event: string) => output.split(`"${event}"`).length - 1;
const wakes = () => ['gateway.woke', 'coordinator.woke'].map((event) => countIn(host.output(), event));

test('C14, C232, P176, H42: after a sleep of gateway and coordinator the agent goes on without a hello: the next application starts, and the log of one that runs streams to its end', async () => {
  const id = await api.submit(
    application(script('trap "echo goodbye; exit" TERM; echo hello; while true; do sleep 0.1; done')),
  );
  await api.waitFor(id, 'running', HANGS_MS);
  const next = await eventually(async () => {
    const before = wakes();
    const greetings = countIn(agent.output, 'session.synced');
    // Whether objects may sleep shows only in what they do next, so a busy machine gets further tries.
    await pause(RESTS_MS);
    // The runtime takes the coordinator's memory some minutes after its last work: here at once.
    await host.killObject('coordinator');
    const started = await api.submit(application(script('echo next')));
    await api.waitFor(started, 'terminated', HANGS_MS);
    expect(wakes()).toEqual(before.map((count) => count + 1));
    expect(countIn(agent.output, 'session.synced')).toBe(greetings);
    return started;
  }, 2 * HANGS_MS);
  // The log of one that has ended, and one that is followed. While a log is read, and for a while afterwards,
  // the coordinator does not sleep.
  expect(await api.logText(next)).toBe('next\n');
  const [service = 0] = (await api.execution(id)).services;
  const log = (await api.openLog(service)).setEncoding('utf8')[Symbol.asyncIterator]();
  expect((await log.next()).value).toBe('hello\n');
  await api.terminate(id);
  await api.waitFor(id, 'terminated', HANGS_MS);
  expect((await log.next()).value).toBe('goodbye\n');
  expect((await log.next()).done).toBe(true);
});
