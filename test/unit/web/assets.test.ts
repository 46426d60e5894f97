import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { OperationError } from '../../../control-plane/core/model/errors.ts';
import { assetRoutes } from '../../../control-plane/web/assets.ts';

/** The error of a GET request. */
async function errorOf(error: Error): Promise<unknown> {
  let failure: unknown;
  const app = new Hono().route(
    '/',
    assetRoutes(() => Promise.reject(error), { hasZipped: false }),
  );
  app.onError((thrown, c) => {
    failure = thrown;
    return c.text('', 500);
  });
  await app.request('/page.js');
  return failure;
}

test('W8: a missing file is not found, but a failed build is reported as such', async () => {
  const missing = Object.assign(new Error('no such file'), { code: 'ENOENT' });
  expect(await errorOf(missing)).toBeInstanceOf(OperationError);
  const broken = new Error("files can't be made");
  expect(await errorOf(broken)).toBe(broken);
});
