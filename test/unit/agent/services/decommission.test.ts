import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../../../../agent/config.ts';
import { RefusedError } from '../../../../agent/connection/refused-error.ts';
import { decommission } from '../../../../agent/services/decommission.ts';
import { serveAgent } from '../../../../agent/serving.ts';
import { closeCodes } from '../../../../shared/protocol/close.ts';
import { machine } from '../../../support/agents/agent-rig.ts';
import { ControlPlanePeer } from '../../../support/agents/control-plane-peer.ts';
import { FakeEngine, summaryOf } from '../../../support/engines/fake-engine.ts';
import { assignment, noCredentials, noSecrets } from '../../../support/fixtures/assignments.ts';
import { eventually } from '../../../support/tools/eventually.ts';
import { testFolder } from '../../../support/tools/test-folder.ts';

let folder: string;
let engine: FakeEngine;
let peer: ControlPlanePeer;
let stop: AbortController;
let served: Promise<unknown>;

beforeEach(async () => {
  folder = await testFolder();
  engine = new FakeEngine(`${folder}/engine`);
  peer = await ControlPlanePeer.open();
  begin();
  await (await peer.connection()).run([assignment(), assignment({ service: 2 })]);
});

afterEach(async () => {
  stop.abort();
  await served;
});

/** Starts a whole agent. `served` resolves to the error that the agent ends with, if any. */
function begin(): void {
  stop = new AbortController();
  const config = readConfig({ BERTH_URL: peer.url.href, BERTH_AGENT_DATA_DIR: folder }, machine);
  served = serveAgent(config, {
    engine,
    identity: { headers: async () => ({ authorization: 'Bearer proof' }) },
    log: () => {},
    probeDisk: async () => ({ freeBytes: 2 ** 40, freeInodesShare: null }),
    punchHole: async () => {},
    fetchSecrets: noSecrets,
    fetchCredentials: noCredentials,
    stopSignal: stop.signal,
  }).catch((error: unknown) => error);
}

test('C97: the agent of a removed host stops and removes its containers, and ends', async () => {
  (await peer.connection()).close(closeCodes.revoked.code, 'this host was removed');
  const error = await served;
  expect(error).toBeInstanceOf(RefusedError);
  expect(error).toMatchObject({
    revoked: true,
    message: expect.stringMatching(/this host was removed\. .*join token/),
  });
  expect(engine.containers.size).toBe(0);
  expect(peer.connections).toHaveLength(1);
});

test('C97: the agent of a removed host ends only after all work in progress, such as a container being created', async () => {
  const looks = [false, false, true];
  const agent = {
    inventory: () => [],
    sync: () => {},
    refresh: async () => {},
    get isIdle() {
      return looks.shift() ?? true;
    },
  };
  expect(await decommission(agent, () => {}, stop.signal)).toBe(true);
  expect(looks).toEqual([]);
});

test('C97: the agent of a removed host waits until its engine answers, and finds a container of a start that had failed', async () => {
  // The answer was an error, and no event reported the container.
  await engine.create(assignment({ service: 3 }), 1);
  engine.refuse('stop', new Error('the engine is busy'));
  let failures = 1;
  engine.list = async () => {
    if (failures-- > 0) throw new Error('the engine is busy');
    return [...engine.containers.values()].map(summaryOf);
  };
  (await peer.connection()).close(closeCodes.revoked.code);
  await eventually(() => engine.calls.some((call) => call.startsWith('stop')));
  engine.before = () => {};
  expect(await served).toMatchObject({ revoked: true });
  expect(engine.containers.size).toBe(0);
  expect(failures).toBeLessThan(0);
});

test('C97: an agent that is stopped meanwhile ends as usual, and continues at its next start', async () => {
  engine.hold('stop');
  (await peer.connection()).close(closeCodes.revoked.code);
  stop.abort();
  expect(await served).toBeUndefined();
  expect(engine.containers.size).toBe(2);
  engine.before = () => {};
  begin();
  (await peer.connection(2)).close(closeCodes.revoked.code);
  expect(await served).toMatchObject({ revoked: true });
  expect(engine.containers.size).toBe(0);
});

test.each(['superseded', 'wrongDeployment'] as const)(
  'C97, P11: an agent that is refused for another reason (%s) does not reconnect, and leaves its containers running',
  async (reason) => {
    (await peer.connection()).close(closeCodes[reason].code);
    const error = await served;
    expect(error).toBeInstanceOf(RefusedError);
    expect(error).toMatchObject({ revoked: false });
    expect(engine.containers.size).toBe(2);
  },
);

test('an agent that is stopped while the engine has not answered yet ends', async () => {
  stop.abort();
  await served;
  const facts = await engine.facts();
  const requested = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<typeof facts>();
  engine.facts = () => {
    requested.resolve();
    return answer.promise;
  };
  begin();
  await requested.promise;
  stop.abort();
  answer.resolve(facts);
  expect(await served).toBeUndefined();
});
