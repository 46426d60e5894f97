/**
 * Serves what a machine needs to become a host: the install script, the agent as one file, and its checksum.
 * Outside of the API and without credentials: none of it is secret, and a host can join only with a token.
 */
import { Hono, type Context as HonoContext } from 'hono';
import { etag } from 'hono/etag';
import { file, type ReadFile } from '../files.ts';
import { type Env, isHttps } from '../request.ts';

const SCRIPT = 'text/x-shellscript; charset=utf-8';
const BUNDLE = 'berth-agent.mjs';

/** The line of the script that is filled in. */
const ADDRESS_LINE = "served_by=''";

export function installRoutes(agentFile: ReadFile): Hono<Env> {
  const routes = new Hono<Env>();
  const bundle = `/agent/${BUNDLE}`;
  const script = '/agent/install.sh';
  for (const path of [script, bundle, `${bundle}.sha256`]) routes.use(path, etag({ generateDigest: sha256 }));
  routes.get(script, async (c) => {
    const text = new TextDecoder().decode(await agentFile('install.sh'));
    return file(text.replace(ADDRESS_LINE, `served_by='${originOf(c)}'`), SCRIPT);
  });
  routes.get(bundle, async () => file(await agentFile(BUNDLE), 'text/javascript; charset=utf-8'));
  routes.get(`${bundle}.sha256`, async () => {
    const digest = Buffer.from(await sha256(new Uint8Array(await agentFile(BUNDLE)))).toString('hex');
    return file(`${digest}  ${BUNDLE}\n`, 'text/plain; charset=utf-8');
  });
  return routes;
}

const sha256 = (bytes: Uint8Array<ArrayBuffer>) => crypto.subtle.digest('SHA-256', bytes);

/**
 * The shell line that makes a machine a host by means of `token`; undefined if the control plane's own
 * address is not known.
 */
export function installLine(c: HonoContext, token: string): string | undefined {
  const origin = originOf(c);
  return origin ? `curl -fsSL ${origin}/agent/install.sh | BERTH_JOIN_TOKEN=${token} sh` : undefined;
}

/**
 * The address of the control plane as the client sent it. Empty unless it is a plain host and port, because
 * it becomes part of a script. The script then requires BERTH_URL.
 */
function originOf(c: HonoContext): string {
  const { host } = new URL(c.req.url);
  if (!/^([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d+)?$/.test(host)) return '';
  return `${isHttps(c) ? 'https' : 'http'}://${host}`;
}
