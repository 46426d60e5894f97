/**
 * Finds the credentials for an image registry in the Docker config file of the agent's user: `auths`, and the
 * programs that `credHelpers` and `credsStore` name. Never logs the credentials, and never passes a secret as
 * an argument.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as z from 'zod';
import { DOCKER_HUB, type RegistryCredentials } from '../../../shared/protocol/secrets.ts';
import { foreignEnv } from '../../system-programs.ts';

export type RegistryAuth = { serveraddress: string } & (
  | { username: string; password: string }
  | { identitytoken: string }
);

/**
 * Without `auth` the pull is anonymous. `problem` is the likely reason if the registry then refuses the pull.
 */
export interface Login {
  auth?: RegistryAuth | undefined;
  problem?: string;
}

const text = z.string().optional().catch(undefined);
const entrySchema = z.object({ auth: text, username: text, password: text }).catch({});
/** Fields that do not have Docker's format are ignored. */
const configSchema = z.object({
  auths: z.record(z.string(), entrySchema).optional().catch(undefined),
  credHelpers: z.record(z.string(), z.string()).optional().catch(undefined),
  credsStore: text,
});
type DockerConfig = z.infer<typeof configSchema>;

/** Docker's name of the registry for images without a registry in their name. */
export const HUB = 'https://index.docker.io/v1/';
/** Names of that registry in image names. */
const HUB_NAMES: ReadonlySet<string> = new Set(['docker.io', 'index.docker.io']);
const HELPER_TIMEOUT_MS = 10_000;

/**
 * Finds the login for the registry of `image`: from the credential helper for that registry or for all
 * registries, otherwise from the file.
 */
export async function findLogin(
  env: NodeJS.ProcessEnv,
  image: string,
  timeoutMs: number = HELPER_TIMEOUT_MS,
): Promise<Login> {
  const file = `${env.DOCKER_CONFIG || `${homedir()}/.docker`}/config.json`;
  const written = await readFile(file, 'utf8').catch(() => '{}');
  let config: DockerConfig;
  try {
    const parsed = configSchema.safeParse(JSON.parse(written));
    if (!parsed.success) return { problem: `${file} is not a Docker config file` };
    config = parsed.data;
  } catch {
    return { problem: `${file} is not JSON` };
  }
  const registry = registryOf(image);
  const helper = entryOf(config.credHelpers, registry) ?? config.credsStore;
  const fromHelper = helper === undefined ? {} : await runHelper(helper, registry, env, timeoutMs);
  return fromHelper.auth ? fromHelper : { ...fromHelper, auth: findAuth(config, image) };
}

export function findAuth({ auths }: DockerConfig, image: string): RegistryAuth | undefined {
  const registry = registryOf(image);
  const { auth, username, password } = entryOf(auths, registry) ?? {};
  const [user = '', ...rest] = auth
    ? Buffer.from(auth, 'base64').toString().split(':')
    : [username, password];
  return user === '' ? undefined : { username: user, password: rest.join(':'), serveraddress: registry };
}

/**
 * The first part of an image name is a registry if it looks like a host name. Newer engines also take a part
 * with a capital letter for one.
 */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:A-Z]/.test(first) || first === 'localhost');
  return isHost && !HUB_NAMES.has(first) ? first : HUB;
}

/** The login with credentials of users (P233). The name `<token>` is Docker's own for identity tokens. */
export function loginOf({ registry, username, password }: RegistryCredentials): Login {
  const serveraddress = registry === DOCKER_HUB ? HUB : registry;
  const auth =
    username === '<token>'
      ? { identitytoken: password, serveraddress }
      : { username, password, serveraddress };
  return { auth };
}

const REFUSED = /\b(?:unauthorized|no basic auth credentials|denied|forbidden)\b/i;

/** What a user can do about a refused pull. Undefined if the registry did not refuse the login. */
export function refusalHint(
  registry: string,
  credentials: Pick<RegistryCredentials, 'ofAll'> | undefined,
  message: string,
): string | undefined {
  if (!REFUSED.test(message)) return undefined;
  if (!credentials) return `credentials for it are set with \`berth registry set ${registry}\``;
  return credentials.ofAll
    ? `the credentials of all users for ${registry} were refused: an administrator sets them again with \`berth registry set --all ${registry}\`, or you set your own`
    : `your credentials for ${registry} were refused: set them again with \`berth registry set ${registry}\``;
}

/** What a user can do about a registry that can't be reached. */
export const unreachableHint = (registry: string): string =>
  `is the name of the image right, and the tag, if only the host has the image? The registry ${registry} can't be reached from this host; the start is tried again`;

/** Docker's protocol of credential helpers: the registry on stdin, `{Username, Secret}` on stdout. */
async function runHelper(
  name: string,
  registry: string,
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
): Promise<Login> {
  const program = `docker-credential-${name}`;
  if (!/^[\w.-]+$/.test(name)) return { problem: 'the name of the credential helper is invalid' };
  try {
    const { Username, Secret } = JSON.parse(await output(program, registry, env, timeoutMs)) as Record<
      string,
      string
    >;
    if (!Username || !Secret) return {};
    const token = { identitytoken: Secret, serveraddress: registry };
    const user = { username: Username, password: Secret, serveraddress: registry };
    return { auth: Username === '<token>' ? token : user };
  } catch (error) {
    return {
      problem: `${program} failed: ${error instanceof SyntaxError ? 'its output is not JSON' : reasonOf(error)}`,
    };
  }
}

function output(program: string, input: string, env: NodeJS.ProcessEnv, timeout: number): Promise<string> {
  // systemd starts root's services without HOME, where most helpers store their data.
  const helperEnv = { ...foreignEnv(env), HOME: env.HOME || homedir() };
  const options = { env: helperEnv, timeout, killSignal: 'SIGKILL' } as const;
  return new Promise((done, fail) => {
    const child = execFile(program, ['get'], options, (error, stdout) =>
      error ? fail(error) : done(stdout),
    );
    // A helper may end without reading its input. Its exit code and output decide.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** The message must not contain the helper's output, which may be a secret (P45). */
function reasonOf(error: unknown): string {
  const { code, killed } = error as { code?: string | number; killed?: boolean };
  return killed ? 'it took too long' : typeof code === 'number' ? `exit code ${code}` : String(code);
}

/** Finds the entry for a registry, which may be written with or without a scheme and a path. */
function entryOf<T>(entries: Record<string, T> = {}, registry: string): T | undefined {
  const wanted = hostOf(registry);
  return Object.entries(entries).find(([name]) => hostOf(name) === wanted)?.[1];
}

const hostOf = (name: string): string => name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
