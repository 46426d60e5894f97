/** Puts the limits of the file that BERTH_LIMITS names into an environment. Pure. */

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment with the content of the file in the place of its path. `read` returns the text of a file.
 * The path of a file that cannot be read stays, and is then refused as not an object.
 */
export function withLimitsFile(env: Environment, read: (path: string) => string): Environment {
  const { BERTH_LIMITS: given = '' } = env;
  if (given.trim() === '' || given.trimStart().startsWith('{')) return env;
  try {
    return { ...env, BERTH_LIMITS: read(given) };
  } catch {
    return env;
  }
}
