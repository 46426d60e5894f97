/**
 * When a request is proved. A read is answered while the database is asked who it is for, so that both take
 * one round trip (H382); the answer is sent only if the credential proves what was expected, and otherwise
 * made anew. A request with a body is proved before the body is read, and again after it (ACC-12).
 */
import type { Context as HonoContext } from 'hono';
import { type Authenticated, hasChangedSince } from '../core/accounts/account.ts';
import { admitsSame, type Claim, isSameProof } from '../operations/accounts/expected-proofs.ts';

/** Streams hold something open from their start, and those to services act there. */
const STREAMS = /\/(logs?|events)(\/|$)|\/services?\/\d+\/(exec|forward|files)$/;

/** Answers a request from the beginning. */
export type AnswerAnew = (c: HonoContext) => Response | Promise<Response>;

/**
 * Calls `answer` with the proof of the claim, or ahead of it with what is expected. A middleware's `answer`
 * may call `next`.
 */
export async function answerAhead<T>(
  c: HonoContext,
  claim: Claim,
  answer: (proof: Authenticated) => Promise<T>,
  anew: AnswerAnew,
): Promise<T | undefined> {
  const { expected } = claim;
  if (!expected || !isPlainRead(c)) {
    const proof = await claim.prove();
    c.set('proveAgain', () => proveAgain(claim, proof));
    return answer(proof);
  }
  const proving = claim.prove();
  const [proved, answered] = await Promise.allSettled([proving, answer(expected)]);
  if (proved.status === 'fulfilled' && isSameProof(proved.value, expected)) {
    if (answered.status === 'rejected') throw answered.reason;
    return answered.value;
  }
  await discardAnswer(c);
  if (proved.status === 'rejected') throw proved.reason;
  c.res = await anew(c);
  return undefined;
}

/** Throws if the credential no longer admits what it did. */
async function proveAgain({ prove }: Claim, earlier: Authenticated): Promise<void> {
  if (!admitsSame(await prove(), earlier)) throw hasChangedSince();
}

const isPlainRead = ({ req }: HonoContext): boolean =>
  (req.method === 'GET' || req.method === 'HEAD') && !STREAMS.test(req.path);

/** Removes the answer, with its headers. */
async function discardAnswer(c: HonoContext): Promise<void> {
  if (!c.finalized) return;
  await c.res.body?.cancel();
  c.res = undefined;
  c.finalized = false;
}
