/** Owns the files that pages ask for: scripts and styles, as local/web-files.ts has made them. */
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { OperationError } from '../core/model/errors.ts';
import { file, type ReadFile } from '../http/files.ts';
import type { WebEnv } from './context.ts';

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
};

/** Asked for again each time, and sent again when they have changed: they change with the release alone. */
export function assetRoutes(webFile: ReadFile): Hono<WebEnv> {
  const routes = new Hono<WebEnv>();
  routes.use('*', etag());
  routes.get('/:name', async (c) => {
    const { name } = c.req.param();
    const [, kind = ''] = /^[a-zA-Z0-9-]+\.([a-z]+)$/.exec(name) ?? [];
    const type = Object.hasOwn(TYPES, kind) && TYPES[kind];
    const content = type && (await webFile(name).catch(noneOrThrow));
    if (!type || !content) throw new OperationError('not-found', `There is no ${c.req.path} here.`);
    return file(content, type);
  });
  return routes;
}

/** That files could not be made is for the log to tell, and not the same as a name that nobody has. */
function noneOrThrow(error: unknown): undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}
