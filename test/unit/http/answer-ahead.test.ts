import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { answerAhead } from '../../../control-plane/http/answer-ahead.ts';
import type { Claim } from '../../../control-plane/operations/accounts/expected-proofs.ts';

/** True if a request is answered ahead of the proof of its credential, which has ended meanwhile. */
async function isAnsweredAhead(path: string, method = 'GET'): Promise<boolean> {
  let isAnswered = false;
  const prove = () => Promise.reject(new Error('ended'));
  const claim = { expected: { by: 'none' }, prove } as unknown as Claim;
  const answer = async () => {
    isAnswered = true;
    return new Response();
  };
  const app = new Hono().get('*', (c) =>
    answerAhead(c, claim, answer, () => new Response()).then((response) => response ?? new Response()),
  );
  app.onError((_, c) => c.text('', 500));
  const { status } = await app.request(path, { method });
  expect(status).toBe(500);
  return isAnswered;
}

test('H709: no stream is opened ahead of the proof of its credential', async () => {
  for (const method of ['GET', 'HEAD'])
    for (const path of ['exec', 'forward', 'files'].map((purpose) => `/native/api/0.7/service/7/${purpose}`))
      expect(await isAnsweredAhead(path, method), path).toBe(false);
  expect(await isAnsweredAhead('/executions/1/services/2/files?path=/srv/f')).toBe(false);
  for (const path of ['/native/api/0.7/service/7', '/executions/1', '/shop/a/files/b'])
    expect(await isAnsweredAhead(path), path).toBe(true);
});
