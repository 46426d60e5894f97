/** Serves the scripts and styles that local/assets/web-files.ts builds. */
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { OperationError } from '../core/model/errors.ts';
import { file, isMissing, type ReadFile, ZIPPED } from '../http/files.ts';
import { acceptsGzip, GZIP_HEADERS } from './compression.ts';
import type { WebEnv } from './context.ts';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/**
 * Files are revalidated on each request, because they change only with a release. `hasZipped`: each has a
 * compressed copy.
 */
export function assetRoutes(webFile: ReadFile, { hasZipped }: { hasZipped: boolean }): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.use('*', etag());
  routes.get('/:name', async (c) => {
    const { name } = c.req.param();
    const [, kind = ''] = /^[a-zA-Z0-9-]+\.([a-z]+)$/.exec(name) ?? [];
    const type = Object.hasOwn(TYPES, kind) && TYPES[kind];
    const isZipped = hasZipped && acceptsGzip(c);
    const content = type && (await webFile(isZipped ? `${name}${ZIPPED}` : name).catch(noneOrThrow));
    if (!type || !content) throw new OperationError('not-found', `There is no ${c.req.path} here.`);
    return file(content, type, isZipped ? GZIP_HEADERS : { vary: GZIP_HEADERS.vary });
  });
  return routes;
}

function noneOrThrow(error: unknown): undefined {
  if (!isMissing(error)) throw error;
}
