/**
 * Finds system programs and builds their environment. The PATH of a service or of a plain user often lacks
 * the administrator's folders.
 */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** PATH, followed by the folders of administration programs. */
export const systemPath = (): string =>
  [process.env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
    .filter(Boolean)
    .join(delimiter);

/**
 * The environment for programs that are not part of Berth: without Berth's settings, which include tokens and
 * passwords (P73).
 */
export const foreignEnv = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('BERTH_')));

/** The full path of an executable. Undefined if no folder has it. */
export async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of systemPath().split(delimiter)) {
    const path = join(folder, name);
    if (
      await access(path, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return path;
  }
  return undefined;
}
