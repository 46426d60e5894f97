/** The types of the client, which are made from the API document. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { clientTypesText, typesOf } from '../../../release/client-types.ts';

test('L81: client/api-types.ts has the types of the API document', async () => {
  const isFresh = readFileSync('client/api-types.ts', 'utf8') === (await clientTypesText());
  expect(isFresh, 'client/api-types.ts: it is not up to date: run "npm run docs"').toBe(true);
});

test('L81: each kind of schema has a type, and an unknown kind is refused', () => {
  const text = { type: 'string' };
  const object = {
    type: 'object',
    properties: {
      list: { type: 'array', items: { anyOf: [text, { type: 'null' }] }, description: 'A list.' },
      pair: { type: 'array', prefixItems: [text, { type: 'integer' }], items: false as const },
      byName: { type: 'object', additionalProperties: { $ref: '#/components/schemas/Kind' } },
      three: { const: 3 },
    },
    required: ['list'],
  };
  expect(typesOf({ Object: object, Kind: { enum: ["it's", null] } })).toBe(
    `
export type Kind = 'it\\'s' | null;

export type Object = {
  /** A list. */
  list: Array<string | null>;
  pair?: [string, number] | undefined;
  byName?: Record<string, Kind> | undefined;
  three?: 3 | undefined;
};
`,
  );
  expect(() => typesOf({ Odd: { type: 'file' } })).toThrow('no type for {"type":"file"}');
});
