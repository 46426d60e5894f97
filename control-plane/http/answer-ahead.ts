/**
 * Answers a read while the database is asked who it is for, so that both take one round trip (H382). The
 * answer is sent only if the credential proves what was expected; otherwise it is made anew.
 */
import type { Context as HonoContext } from 'hono';
import type { Authenticated } from '../core/accounts/account.ts';
import { type Claim, isSameProof } from '../operations/accounts/expected-proofs.ts';

/** Streams hold something open from their start. */
const STREAMS = /\/(logs?|events)(\/|$)/;

/** Answers a request from the beginning. */
export type AnswerAnew = (c: HonoContext) => Response | Promise<Response>;

/**
 * Calls `answer` with the proof of the claim, or ahead of it with what is expected. A middleware's `answer`
 * may call `next`.
 */
export async function answerAhead<T>(
  c: HonoContext,
  { expected, prove }: Claim,
  answer: (proof: Authenticated) => Promise<T>,
  anew: AnswerAnew,
): Promise<T | undefined> {
  if (!expected || !isPlainRead(c)) return answer(await prove());
  const proving = prove();
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

const isPlainRead = ({ req }: HonoContext): boolean =>
  (req.method === 'GET' || req.method === 'HEAD') && !STREAMS.test(req.path);

/** Removes the answer, with its headers. */
async function discardAnswer(c: HonoContext): Promise<void> {
  if (!c.finalized) return;
  await c.res.body?.cancel();
  c.res = undefined;
  c.finalized = false;
}
