/** Messages for a person whose control plane can't use its data folder or its address. */
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from '../config.ts';

/** Creates the folder if it is missing, for this user only; returns its path. */
export function dataFolder(...path: [setting: string, ...string[]]): string {
  const folder = resolve(...path);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`BERTH_DATA_DIR: can't create the folder ${folder} (${reason}).`);
  }
  return folder;
}

/**
 * The reason why the address can't be used, with the setting to change. Other errors are returned unchanged.
 */
export function listenProblem(error: NodeJS.ErrnoException, host: string, port: number): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new ConfigError(`port ${port} is in use: stop what listens there, or set BERTH_PORT`);
    case 'EACCES':
      return new ConfigError(
        `port ${port} is reserved for privileged users: set BERTH_PORT to a port above 1023`,
      );
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new ConfigError(`BERTH_HOST: ${host} is not an address of this machine`);
    default:
      return error;
  }
}
