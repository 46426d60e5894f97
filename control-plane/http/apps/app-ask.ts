/**
 * Answers a web server that gets certificates on demand, such as Caddy: whether a domain is one of a live
 * application, or that of all paths. Needs no login, and answers programs of this machine only.
 */
import { Hono, type Context as HonoContext } from 'hono';
import { appAt } from '../../core/apps/app-site.ts';
import { cloudflareAddress, peerAddress, plainAddress } from '../../guard/address.ts';
import { isLiveApp } from '../../operations/apps/apps.ts';
import type { AppSettings } from '../../operations/apps/settings.ts';
import type { Context } from '../../operations/context.ts';
import { empty } from '../json/render.ts';

export const ASK_PATH = '/apps/ask';
const MAX_LENGTH = 253;
/** What a proxy adds to the requests of others. The web server itself asks without a proxy. */
const OF_PROXIES =
  /^(forwarded|via|x-forwarded-.*|x-real-ip|x-client-ip|x-cluster-client-ip|true-client-ip|cdn-loop|cf-ray)$/;

export function askRoutes(context: Pick<Context, 'db'>, { site, paths }: AppSettings): Hono {
  const routes = new Hono();
  routes.get(ASK_PATH, async (c) => {
    const domain = c.req.query('domain') ?? '';
    if (!isOfThisMachine(c) || domain.length > MAX_LENGTH || domain.includes(':')) return empty(404);
    if (domain.toLowerCase() === paths?.hostname) return empty(200);
    const port = !site || site.port === '' ? '' : `:${site.port}`;
    const name = site && appAt(site, `${domain}${port}`);
    return empty(name && (await isLiveApp(context, name)) ? 200 : 404);
  });
  return routes;
}

/**
 * Where Berth is reached without a proxy, a stranger's request has no header of one. On Cloudflare the
 * address is that of the visitor.
 */
function isOfThisMachine(c: HonoContext): boolean {
  const address = plainAddress(peerAddress(c) ?? cloudflareAddress(c));
  const isForwarded = [...c.req.raw.headers.keys()].some((name) => OF_PROXIES.test(name));
  return !isForwarded && (address === undefined || address === '::1' || address.startsWith('127.'));
}
