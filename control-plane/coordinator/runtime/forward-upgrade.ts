/** Owns handing an agent's upgrade request on from the worker to the coordinator's Durable Object. */
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { type ErrorCode, OperationError } from '../../core/model/errors.ts';

/** Tells the object which host the worker has found a request to be of. */
export const PROOF_HEADER = 'berth-proof';

/** Why the object lets an agent not in; errors lose their class between it and the worker. */
export interface Rejection {
  code: ErrorCode;
  message: string;
}

/** Hands the request on, when the worker has checked who it is. Throws OperationError where it is not let in. */
export async function forwardUpgrade(
  object: { fetch(request: Request): Promise<Response> },
  request: Request,
  proof: VerifiedProof,
): Promise<Response> {
  const forwarded = new Request(request);
  // Whatever the agent sent under that name is overwritten.
  forwarded.headers.set(PROOF_HEADER, JSON.stringify(proof));
  let response: Response;
  try {
    response = await object.fetch(forwarded);
  } catch (cause) {
    throw new OperationError('unavailable', 'The coordinator does not answer; try again.', { cause });
  }
  if (response.status === 101) return response;
  const { code, message } = (await response.json()) as Rejection;
  throw new OperationError(code, message);
}
