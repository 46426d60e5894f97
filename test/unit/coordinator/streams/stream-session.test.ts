/** One client of a stream before its stream is open: what ends it, and what it leaves. */
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { OpenChannels } from '../../../../control-plane/coordinator/connections/open-channels.ts';
import { noTraffic } from '../../../../control-plane/coordinator/connections/traffic.ts';
import { NO_CLOSE } from '../../../../control-plane/coordinator/streams/client-end.ts';
import type { OpenPlacement } from '../../../../control-plane/coordinator/streams/placement.ts';
import { ResumableStreams } from '../../../../control-plane/coordinator/streams/resumable-streams.ts';
import { StreamConnection } from '../../../../control-plane/coordinator/streams/stream-connection.ts';
import type { StreamSessionDeps } from '../../../../control-plane/coordinator/streams/stream-session.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { defaultStreamRules } from '../../../../control-plane/core/model/stream-rules.ts';
import type { StreamRequest } from '../../../../control-plane/core/streams/stream-request.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { PLACED, ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';
import { TestClock } from '../../../support/rigs/test-clock.ts';

const REQUEST: StreamRequest = {
  ...{ purpose: 'forward', serviceId: 7, hostId: 1 },
  subscriber: {
    ...{ userId: 1, credentialVersion: 1, ownerId: 1 },
    ...{ credential: { by: 'password' }, use: { kind: 'exec-service' } },
  },
  doer: ADMIN_DOER,
};

/** A client that has sent its request. */
function begin(deps: Partial<StreamSessionDeps>) {
  const clock = new TestClock();
  const toAgent: string[] = [];
  const channels = new OpenChannels({
    ...{ traffic: noTraffic(), sendBytes: () => {}, refused: () => {} },
    sendText: ({ type }) => toAgent.push(type),
  });
  const permit = new ScriptedPlacement();
  const sent: string[] = [];
  const closes: number[] = [];
  const connection = new StreamConnection(
    { send: (data) => sent.push(String(data)), close: (code) => closes.push(code) },
    REQUEST,
    {
      ...{ clock, rules: defaultStreamRules, place: async () => permit },
      channelsAt: async () => channels,
      ...deps,
    },
    new ResumableStreams(1),
  );
  connection.receive(JSON.stringify({ type: 'forward', port: 80 }));
  return { connection, clock, channels, toAgent, sent, closes, permit };
}

/** The client was told why. */
function expectEnd({ sent, closes }: ReturnType<typeof begin>, why: string) {
  expect([sent.join(), closes]).toEqual([expect.stringContaining(why), [1001]]);
}

const turns = async () => {
  for (let n = 0; n < 5; n++) await setImmediate();
};

test('C305: a client that leaves while its host is looked up leaves no stream at the agent', async () => {
  const found = Promise.withResolvers<OpenChannels | undefined>();
  const one = begin({ channelsAt: () => found.promise });
  one.permit.send(PLACED);
  await turns();
  one.connection.closed(NO_CLOSE);
  found.resolve(one.channels);
  await turns();
  expect([one.toAgent, one.channels.streams, one.permit.isLeft]).toEqual([[], 0, true]);
});
test('C307: a stream without a permit ends after 60 s, and returns a permit that comes later', async () => {
  const answer = Promise.withResolvers<OpenPlacement>();
  const one = begin({ place: () => answer.promise });
  one.clock.pass(59_999);
  expect(one.closes).toEqual([]);
  one.clock.pass(1);
  expectEnd(one, 'has not permitted the stream within 60 s');
  answer.resolve(one.permit);
  await turns();
  expect(one.permit.isLeft).toBe(true);
});
test('C307: a stream whose permit is lost, refused, or ends with its coordinator states why', async () => {
  const lost = begin({ place: () => Promise.reject(new Error('the object was reset')) });
  await turns();
  expectEnd(lost, 'can not open the stream. Try again.');
  const refused = begin({ place: () => Promise.reject(new OperationError('conflict', 'It has ended.')) });
  await turns();
  expectEnd(refused, 'It has ended.');
  const restarted = begin({});
  restarted.permit.send(PLACED);
  restarted.permit.close();
  await turns();
  expectEnd(restarted, 'The control plane has restarted. Try again.');
  expect(restarted.permit.isLeft).toBe(true);
});
test('C307: a stream that is open is not bound by the time for a permit', async () => {
  const one = begin({});
  one.permit.send(PLACED);
  await turns();
  expect(one.toAgent).toEqual(['channel.open']);
  one.clock.pass(60_000);
  expect(one.closes).toEqual([]);
});
