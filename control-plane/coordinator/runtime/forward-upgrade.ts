/** Forwards an agent's upgrade request from the Worker to the Durable Object of its gateway. */
import type { VerifiedProof } from '../../core/hosts/registration.ts';
import { type ErrorCode, OperationError } from '../../core/model/errors.ts';

/** Header that carries the proof which the Worker has verified. */
export const PROOF_HEADER = 'berth-proof';

/** Why the object refused an agent. Errors lose their class between the object and the Worker. */
export interface Rejection {
  code: ErrorCode;
  message: string;
}

/** Forwards the request of a verified agent. Throws OperationError if the object refuses it. */
export async function forwardUpgrade(
  object: { fetch(request: Request): Promise<Response> },
  request: Request,
  proof: VerifiedProof,
): Promise<Response> {
  const forwarded = new Request(request);
  // Overwrites a header of that name from the agent.
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
