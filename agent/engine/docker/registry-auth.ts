/**
 * Owns the credentials of image registries, from the Docker config file of the agent's user: `auths`, and the programs
 * that `credHelpers` and `credsStore` name. Never logs what it reads, and never lets a secret into an argument.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import * as z from 'zod';
import { foreignEnv } from '../../system-programs.ts';

export type RegistryAuth = { serveraddress: string } & (
  | { username: string; password: string }
  | { identitytoken: string }
);

/** Without `auth` the registry is asked as anybody; `problem` is what may be the reason should it refuse. */
export interface Login {
  auth?: RegistryAuth | undefined;
  problem?: string;
}

const text = z.string().optional().catch(undefined);
const entrySchema = z.object({ auth: text, username: text, password: text }).catch({});
/** Of what is not as Docker writes it nothing is taken. */
const configSchema = z.object({
  auths: z.record(z.string(), entrySchema).optional().catch(undefined),
  credHelpers: z.record(z.string(), z.string()).optional().catch(undefined),
  credsStore: text,
});
type DockerConfig = z.infer<typeof configSchema>;

/** Docker's own name of the registry that images without one come from. */
const HUB = 'https://index.docker.io/v1/';
const HELPER_TIMEOUT_MS = 10_000;

/** How to log in at the registry of `image`: by the helper of that registry or of all, else by what the file holds. */
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
    if (!parsed.success) return { problem: `${file} is not a config of Docker` };
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

/** The first part of an image name is a registry where it looks like a host. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost && first !== 'docker.io' ? first : HUB;
}

/** Docker's protocol of helpers: the registry on stdin, `{Username, Secret}` on stdout. */
async function runHelper(
  name: string,
  registry: string,
  env: NodeJS.ProcessEnv,
  timeoutMs: number,
): Promise<Login> {
  const program = `docker-credential-${name}`;
  if (!/^[\w.-]+$/.test(name)) return { problem: 'the credential helper has a bad name' };
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
    return { problem: `${program} failed: ${error instanceof SyntaxError ? 'no JSON' : reasonOf(error)}` };
  }
}

function output(program: string, input: string, env: NodeJS.ProcessEnv, timeout: number): Promise<string> {
  // systemd starts services of root without HOME, where most helpers keep what they know.
  const helperEnv = { ...foreignEnv(env), HOME: env.HOME || homedir() };
  const options = { env: helperEnv, timeout, killSignal: 'SIGKILL' } as const;
  return new Promise((done, fail) => {
    const child = execFile(program, ['get'], options, (error, stdout) =>
      error ? fail(error) : done(stdout),
    );
    // One that ends without reading has said all it has to say.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Of what it printed nothing is told: that may be a secret. */
function reasonOf(error: unknown): string {
  const { code, killed } = error as { code?: string | number; killed?: boolean };
  return killed ? 'it took too long' : typeof code === 'number' ? `it ended with ${code}` : String(code);
}

/** The entry for a registry, which people write with and without a scheme and a path. */
function entryOf<T>(entries: Record<string, T> = {}, registry: string): T | undefined {
  const wanted = hostOf(registry);
  return Object.entries(entries).find(([name]) => hostOf(name) === wanted)?.[1];
}

const hostOf = (name: string): string => name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
