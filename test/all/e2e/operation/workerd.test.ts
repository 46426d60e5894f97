/** Berth on workerd: `npm run dev` with its own agent, database and Durable Object. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { freePort } from '../../../support/hosts/port.ts';
import { type Berth, startBerth } from '../../../support/rigs/berth.ts';

let berth: Berth;

beforeAll(async () => {
  const entry = 'control-plane/local/dev.ts';
  berth = await startBerth({ deployment: 'e2e-workerd', entry, port: await freePort() });
});

afterAll(() => berth.close());

test('C41: a Berth that is killed with all its processes continues running executions after its restart', {
  timeout: 180_000,
}, async () => {
  const id = await berth.api.submit(application(script('echo output; exec sleep 1000')));
  await berth.api.waitFor(id, 'running');
  const [before] = await berth.containersOf(id);
  await berth.program.killAll();
  await berth.start();
  await berth.api.waitFor(id, 'running');
  expect(await berth.containersOf(id)).toMatchObject([{ Id: before?.Id, State: 'running' }]);
  const ended = await berth.api.submit(application(script('echo second')));
  await berth.api.waitFor(ended, 'terminated');
  await berth.api.terminate(id);
  await berth.api.waitFor(id, 'terminated');
  expect(await berth.api.logText(id)).toBe('output\n');
});
