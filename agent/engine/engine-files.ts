/** Paths of an engine's own files on this machine. Never reads or changes them. */
import { access, constants } from 'node:fs/promises';

export interface EngineFiles {
  /** The file that the log driver `local` writes. */
  output(containerId: string): string;
}

/** Undefined if the engine's files are out of the agent's reach, as for an agent in a container. */
export async function filesIn(dataDir: string): Promise<EngineFiles | undefined> {
  const containers = `${dataDir}/containers`;
  try {
    await access(containers, constants.R_OK | constants.X_OK);
  } catch {
    return undefined;
  }
  return { output: (id) => `${containers}/${id}/local-logs/container.log` };
}
