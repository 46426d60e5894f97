/** The socket of a placement between the coordinator's object and a reader in another one, on workerd. */
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { AwakeTime } from '../../../../control-plane/coordinator/sleep/awake-time.ts';
import type { OpenPlacement } from '../../../../control-plane/coordinator/streams/placement.ts';
import type { PlacementRequest } from '../../../../control-plane/coordinator/streams/placements.ts';
import { remotePlacements } from '../../../../control-plane/coordinator/streams/remote-placement.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';
import { ADMIN_DOER } from '../../../support/apps/app-request.ts';
import { owner } from '../../../support/rigs/coordinator-rig.ts';
import { type PairedSocket, stubRuntime } from '../../../support/rigs/object-runtime.ts';
import { PLACED, ScriptedPlacement } from '../../../support/rigs/scripted-placement.ts';

// Written for the types of workerd, which tests do not have.
const RUNTIME = '../../../../control-plane/coordinator/runtime';
const { acceptPlacement, diallingPlacements } = await import(`${RUNTIME}/placement-sockets.ts`);
const { outcomeOf } = await import(`${RUNTIME}/remote-call.ts`);

const REQUEST: PlacementRequest = {
  subscriber: owner,
  serviceId: 7,
  for: { kind: 'stream', entry: { ...ADMIN_DOER, action: 'exec-service', fields: ['program=grün'] } },
};
let awake: AwakeTime;
let asked: unknown[];
let answer: () => Promise<OpenPlacement>;
let placement: ScriptedPlacement;
/** The end of the reader; its peer is that of the coordinator. */
let socket: PairedSocket;

beforeEach(() => {
  stubRuntime();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  asked = [];
  awake = new AwakeTime(Date.now);
  placement = new ScriptedPlacement(PLACED);
  answer = async () => placement;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const coordinator = {
  fetch: async (request: Request) => {
    const response = await acceptPlacement(request, awake, (wanted: PlacementRequest) => {
      asked.push([new URL(request.url).pathname, wanted]);
      return outcomeOf(answer);
    });
    socket = response.webSocket;
    return response;
  },
};
const place = (object: object = coordinator) =>
  remotePlacements(diallingPlacements(() => object)).place(REQUEST);
const turns = async () => {
  for (let n = 0; n < 5; n++) await setImmediate();
};

test('P174: a placement has a socket, on which each line follows the answer to the one before', async () => {
  const reader = await place();
  expect(asked).toEqual([['/place', REQUEST]]);
  expect(await reader.next()).toEqual(PLACED);
  placement.send({ ...PLACED, generation: 2 });
  await turns();
  expect(socket.received).toHaveLength(1);
  expect(await reader.next()).toMatchObject({ generation: 2 });
  const next = reader.next();
  placement.send('heartbeat');
  expect(await next).toBe('heartbeat');
  placement.close();
  const last = reader.next();
  await turns();
  expect([socket.peer?.received, socket.peer?.closes]).toEqual([['', '', ''], [[1000]]]);
  socket.emit('close');
  expect(await last).toBeUndefined();
});

test.each([
  ['closes', (end?: PairedSocket) => end?.emit('close')],
  ['fails', (end?: PairedSocket) => end?.emit('error')],
])('C304: a socket that %s frees the place of its reader at once, and ends what it reads', async (_, end) => {
  const reader = await place();
  await reader.next();
  const next = reader.next();
  await turns();
  end(socket);
  expect(await next).toBeUndefined();
  expect(placement.isLeft).toBe(false);
  end(socket.peer);
  expect(placement.isLeft).toBe(true);
  await turns();
  expect([awake.active, vi.getTimerCount()]).toEqual([0, 0]);
});

test('C304: a reader that leaves closes its socket, and one that does not answer within 60 s has its socket closed', async () => {
  const reader = await place();
  await reader.next();
  reader.leave();
  expect(socket.closes).toEqual([[1000]]);
  // The coordinator waits for the answer.
  expect([awake.active, placement.isLeft]).toEqual([1, false]);
  vi.advanceTimersByTime(60_000);
  expect([awake.active, placement.isLeft, socket.peer?.closes.length]).toEqual([0, true, 1]);
});

test('H689: a placement that is refused has no socket, but the error with all that it states', async () => {
  const error = new OperationError('too-many', 'Wait.', { retryAfterS: 15 });
  answer = () => Promise.reject(error);
  await expect(place()).rejects.toMatchObject({ code: 'too-many', message: 'Wait.', retryAfterS: 15 });
  const cause = new Error('the object was reset');
  await expect(place({ fetch: () => Promise.reject(cause) })).rejects.toMatchObject({
    ...{ code: 'unavailable', cause },
  });
});
