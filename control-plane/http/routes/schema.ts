/**
 * Serves the JSON Schema of application descriptions, which editors load for completion. Outside of the API,
 * without credentials, and the same in every variant.
 */
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { APPLICATION_FORMAT_VERSION } from '../../../shared/application-schema.ts';
import { file } from '../files.ts';
import type { Env } from '../request.ts';

export const SCHEMA_PATH = `/schema/application-${APPLICATION_FORMAT_VERSION}.json`;

export function schemaRoutes(): Hono<Env> {
  const routes = new Hono<Env>();
  let text: string | undefined;
  routes.use(SCHEMA_PATH, etag());
  routes.get(SCHEMA_PATH, async () => {
    text ??= await schemaText();
    return file(text, 'application/schema+json; charset=utf-8');
  });
  return routes;
}

/** Loaded at the first request, to save memory until then. */
async function schemaText(): Promise<string> {
  const { applicationJsonSchema } = await import('../../../shared/application-json-schema.ts');
  return JSON.stringify(applicationJsonSchema());
}
