/** Owns where a Docker engine is looked for and how one is connected to. Never starts one, never retries. */
import { homedir } from 'node:os';
import Docker from 'dockerode';

export const DEFAULT_SOCKET = '/var/run/docker.sock';

/** The form in which DOCKER_HOST names a socket. */
export const unixHost = (socketPath: string): string => `unix://${socketPath}`;

/**
 * A client of the engine at `host`, a value of DOCKER_HOST. Only a `unix:` host may differ from the process's
 * own DOCKER_HOST: for any other, TLS and SSH settings come with it from the environment.
 */
export function connectEngine(host: string, timeoutMs?: number): Docker {
  const options = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  const socketPath = socketOf(host);
  if (socketPath === undefined) return new Docker(options);
  return new Docker({ ...options, socketPath, host: undefined, protocol: 'http' });
}

/** The socket path of a `unix:` host (`unix://` alone is the default one), undefined for any other host. */
export function socketOf(host: string): string | undefined {
  if (!host.startsWith('unix://')) return undefined;
  return host.slice('unix://'.length) || DEFAULT_SOCKET;
}

/** Where an engine is looked for when nothing names one: root's, Docker Desktop's, a rootless one's. */
export function usualHosts(env: NodeJS.ProcessEnv): string[] {
  const sockets = [DEFAULT_SOCKET, `${homedir()}/.docker/run/docker.sock`];
  if (env.XDG_RUNTIME_DIR) sockets.push(`${env.XDG_RUNTIME_DIR}/docker.sock`);
  return sockets.map(unixHost);
}

/** Asks for a sign of life: null when the engine answers, else why it does not. */
export async function pingEngine(host: string, timeoutMs = 5000): Promise<Error | null> {
  try {
    await connectEngine(host, timeoutMs).ping();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
