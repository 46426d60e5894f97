/**
 * Serves what a machine needs to become a host: the install script, the agent as one file, and its checksum.
 * Outside of the API and without credentials: none of it is secret, and a host can join only with a token.
 */
import { Hono, type Context as HonoContext } from 'hono';
import { etag } from 'hono/etag';
import { INSTALL_PATH } from '../../shared/protocol/enrolment.ts';
import {
  AGENT_RELEASE,
  AGENT_BUNDLE as BUNDLE,
  type SignedRelease,
  signedReleaseSchema,
} from '../../shared/protocol/release.ts';
import { OperationError } from '../core/model/errors.ts';
import { file, isMissing, type ReadFile } from './files.ts';
import { ownOrigin } from './own-origin.ts';
import type { Env } from './request.ts';

const SCRIPT = 'text/x-shellscript; charset=utf-8';

/** The line of the script that is filled in. */
const ADDRESS_LINE = "served_by=''";

export function installRoutes(agentFile: ReadFile): Hono<Env> {
  const routes = new Hono<Env>();
  const bundle = `/agent/${BUNDLE}`;
  for (const path of [INSTALL_PATH, bundle, `${bundle}.sha256`])
    routes.use(path, etag({ generateDigest: sha256 }));
  routes.get(INSTALL_PATH, async (c) => {
    const text = new TextDecoder().decode(await agentFile('install.sh'));
    return file(text.replace(ADDRESS_LINE, `served_by='${originOf(c)}'`), SCRIPT);
  });
  routes.get(bundle, async () => file(await agentFile(BUNDLE), 'text/javascript; charset=utf-8'));
  routes.get(`${bundle}.sha256`, async () => {
    return file(`${await checksumOf(agentFile)}  ${BUNDLE}\n`, 'text/plain; charset=utf-8');
  });
  routes.get(`/agent/${AGENT_RELEASE}`, async (c) => {
    const release = await readRelease(agentFile);
    if (!release) throw new OperationError('not-found', 'The agent of this control plane is not signed.');
    return c.json(release);
  });
  return routes;
}

/** Undefined: the agent that this control plane has is not signed. */
export async function readRelease(agentFile: ReadFile): Promise<SignedRelease | undefined> {
  try {
    const text = new TextDecoder().decode(await agentFile(AGENT_RELEASE));
    return signedReleaseSchema.parse(JSON.parse(text));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const sha256 = (bytes: Uint8Array<ArrayBuffer>) => crypto.subtle.digest('SHA-256', bytes);

/** What an administrator gets with a join token. */
export interface InstallInstructions {
  /** SHA-256 of the agent's bundle, as hexadecimal. */
  checksum: string;
  /**
   * The shell line that makes a machine a host by means of the token; undefined if the control plane's own
   * address is not known.
   */
  line: string | undefined;
  /** Why other machines can't use the line; undefined if nothing is known against it. */
  warning: string | undefined;
}

/** Where hosts find the control plane. */
export interface InstallSources {
  /** Reads a file that hosts install. */
  agentFile: ReadFile;
  /** BERTH_PUBLIC_URL. Undefined: the address that the client has used. */
  publicUrl?: string | undefined;
}

export async function installInstructions(
  c: HonoContext,
  { token, name }: { token: string; name?: string | undefined },
  { agentFile, publicUrl }: InstallSources,
): Promise<InstallInstructions> {
  const origin = publicUrl ?? originOf(c);
  const checksum = await checksumOf(agentFile);
  // A machine whose own name differs could not join with the token. No name needs quotes (H220).
  const named = name === undefined ? '' : ` BERTH_AGENT_NAME=${name}`;
  const settings = `BERTH_BUNDLE_SHA256=${checksum} BERTH_JOIN_TOKEN=${token}${named}`;
  const line = origin ? `curl -fsSL ${origin}${INSTALL_PATH} | ${settings} sh` : undefined;
  return { checksum, line, warning: isLoopback(origin) ? onlyHere(origin) : undefined };
}

const onlyHere = (origin: string): string =>
  `The command uses ${origin}, an address that only this machine reaches: on any other machine it fails. ` +
  'Open Berth at an address that the other machines reach, or set BERTH_PUBLIC_URL to it.';

/** Whether the address means the machine on which it is used. */
export const isLoopback = (origin: string): boolean =>
  /^https?:\/\/(localhost|[^/:]+\.localhost|127(\.\d+){1,3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\])\.?(:\d+)?$/.test(
    origin,
  );

async function checksumOf(agentFile: ReadFile): Promise<string> {
  return Buffer.from(await sha256(new Uint8Array(await agentFile(BUNDLE)))).toString('hex');
}

/**
 * The address of the control plane as the client sent it. Empty unless it is a plain host and port, because
 * it becomes part of a script. The script then requires BERTH_URL.
 */
function originOf(c: HonoContext): string {
  const origin = ownOrigin(c);
  return /^https?:\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d+)?$/.test(origin) ? origin : '';
}
