/**
 * Engine addresses: where to look for a Docker engine, and how to connect. Never starts an engine, never
 * retries.
 */
import type { Agent } from 'node:http';
import { homedir } from 'node:os';
import './lean-dockerode.ts';
import Docker from 'dockerode';
import { agentFor } from './broken-answers.ts';

export const DEFAULT_SOCKET = '/var/run/docker.sock';

/** Fields of the client library that its types omit. */
interface ModemFields {
  agent?: Agent | undefined;
  protocol?: string;
}

/** The DOCKER_HOST form of a socket path. */
export const unixHost = (socketPath: string): string => `unix://${socketPath}`;

/**
 * Creates a client of the engine at `host`, a value of DOCKER_HOST. Only a `unix:` host may differ from the
 * process's own DOCKER_HOST: any other host takes its TLS and SSH settings from the environment.
 */
export function connectEngine(host: string, timeoutMs?: number): Docker {
  const options = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  const socketPath = socketOf(host);
  const docker =
    socketPath === undefined
      ? new Docker(options)
      : new Docker({ ...options, socketPath, host: undefined, protocol: 'http' });
  const modem = docker.modem as ModemFields;
  modem.agent ??= agentFor(String(modem.protocol));
  return docker;
}

/**
 * The socket path of a `unix:` host (the default socket for a bare `unix://`). Undefined for any other host.
 */
export function socketOf(host: string): string | undefined {
  if (!host.startsWith('unix://')) return undefined;
  return host.slice('unix://'.length) || DEFAULT_SOCKET;
}

/**
 * Hosts to try if no setting names an engine: the sockets of root's engine, of Docker Desktop and of a
 * rootless engine.
 */
export function usualHosts(env: NodeJS.ProcessEnv): string[] {
  const sockets = [DEFAULT_SOCKET, `${homedir()}/.docker/run/docker.sock`];
  if (env.XDG_RUNTIME_DIR) sockets.push(`${env.XDG_RUNTIME_DIR}/docker.sock`);
  return sockets.map(unixHost);
}

/** Pings the engine. Null if it answers, otherwise the error. */
export async function pingEngine(host: string, timeoutMs = 5000): Promise<Error | null> {
  try {
    await connectEngine(host, timeoutMs).ping();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
