/** The types of the client, which are inferred from the schemas of the API. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openApiDocument } from '../../../control-plane/http/api/document.ts';
import { native } from '../../../control-plane/http/variants/native.ts';
import { NATIVE_PATH } from '../../../control-plane/version.ts';

/** A name that JavaScript has, too. */
const RENAMED: Record<string, string> = { Error: 'ErrorAnswer' };

test('L81: the client has a type for each schema of the API document', () => {
  const types = readFileSync('client/api-types.ts', 'utf8');
  const names = new Set([...types.matchAll(/^export type (\w+) =/gm)].map(([, name]) => name));
  const { components } = openApiDocument(native, NATIVE_PATH);
  const schemas = Object.keys(components?.schemas ?? {}).map((name) => RENAMED[name] ?? name);
  expect(schemas.length).toBeGreaterThan(30);
  expect(schemas.filter((name) => !names.has(name))).toEqual([]);
});
