/** Owns where system programs are found, since PATH of a service or a plain user often lacks the administrator's folders, and what they are told. */
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** PATH with the folders of administration programs at its end. */
export const systemPath = (): string =>
  [process.env.PATH, '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/local/bin', '/usr/bin', '/bin']
    .filter(Boolean)
    .join(delimiter);

/** What programs that are not ours are told of an environment: nothing of Berth, whose settings hold tokens and passwords. */
export const foreignEnv = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('BERTH_')));

/** The full path of an executable, or undefined where there is none. */
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
