/** The types of the client, which are made from the API document. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientTypesText } from '../../../release/client-types.ts';

test('L81: client/api-types.ts has the types of the API document', async () => {
  const isFresh = readFileSync('client/api-types.ts', 'utf8') === (await clientTypesText());
  expect(isFresh, 'client/api-types.ts: it is not up to date: run "npm run docs"').toBe(true);
});
