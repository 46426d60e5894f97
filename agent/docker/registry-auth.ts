/**
 * Owns the credentials of image registries, from the Docker config file of the agent's user. Only `auths` are read;
 * credential helpers are not run. Never logs what it reads.
 */
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';

export interface RegistryAuth {
  username: string;
  password: string;
  serveraddress: string;
}

interface DockerConfig {
  auths?: Record<string, { auth?: string; username?: string; password?: string }>;
}

/** Docker's own name of the registry that images without one come from. */
const HUB = 'https://index.docker.io/v1/';

export function configFile(env: NodeJS.ProcessEnv): string {
  return `${env.DOCKER_CONFIG || `${homedir()}/.docker`}/config.json`;
}

/** Credentials for the registry of `image`; undefined where there are none or the file can't be read. */
export async function readRegistryAuth(file: string, image: string): Promise<RegistryAuth | undefined> {
  try {
    return findAuth(JSON.parse(await readFile(file, 'utf8')) as DockerConfig, image);
  } catch {
    return undefined;
  }
}

export function findAuth({ auths = {} }: DockerConfig, image: string): RegistryAuth | undefined {
  const registry = registryOf(image);
  const wanted = hostOf(registry);
  for (const [name, { auth, username, password }] of Object.entries(auths)) {
    if (hostOf(name) !== wanted) continue;
    const [user = '', ...rest] = auth
      ? Buffer.from(auth, 'base64').toString().split(':')
      : [username, password];
    if (user !== '') return { username: user, password: rest.join(':'), serveraddress: registry };
  }
  return undefined;
}

/** The first part of an image name is a registry where it looks like a host. */
export function registryOf(image: string): string {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  return isHost && first !== 'docker.io' ? first : HUB;
}

const hostOf = (name: string): string => name.replace(/^https?:\/\//, '').replace(/\/.*$/, '');
