/** Sockets between the coordinator's object and the readers of placements, in the Worker and at gateways. */
import type { ObjectSocket } from '../connections/object-socket.ts';
import type { AwakeTime } from '../sleep/awake-time.ts';
import type { OpenPlacement } from '../streams/placement.ts';
import type { PlacementRequest } from '../streams/placements.ts';
import { type DialPlacement, servePlacement } from '../streams/remote-placement.ts';
import { objectClock } from './object-clock.ts';
import { acceptSocket, dialObject, requestOf } from './object-sockets.ts';
import { type Outcome, resultOf } from './remote-call.ts';

const PLACE_PATH = '/place';

/** Each placement takes a new stub. */
export const diallingPlacements =
  (coordinator: () => { fetch(request: Request): Promise<Response> }): DialPlacement =>
  (request, events) =>
    resultOf(async () => {
      const answer = await dialObject(coordinator(), PLACE_PATH, request, events);
      return answer instanceof Response ? answer.json<Outcome<ObjectSocket>>() : { value: answer };
    });

/** Serves a placement, which `place` opens. An OperationError is the answer in place of the socket. */
export const acceptPlacement = (
  asked: Request,
  awake: AwakeTime,
  place: (request: PlacementRequest) => Promise<Outcome<OpenPlacement>>,
): Promise<Response> =>
  acceptSocket(awake, async (open) => {
    const outcome = await place(requestOf(asked));
    if (!('value' in outcome)) return Response.json(outcome);
    return servePlacement(outcome.value, open(), awake.clockOf(objectClock));
  });
