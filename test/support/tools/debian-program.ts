/** Programs of the tests that are packages of Debian. */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';

/** What `find` finds, else what it finds once the packages are installed, which needs root. */
export async function foundOrInstalled<T>(
  find: () => Promise<T | undefined>,
  what: { tests: string; program: string; packages: readonly string[] },
  say: (line: string) => void,
): Promise<T> {
  const found = await find();
  if (found !== undefined) return found;
  const { tests, program, packages } = what;
  if (!isRoot() || !(await hasApt()))
    throw new Error(`${tests} need ${program}: install it (Debian: apt-get install ${packages[0]})`);
  say(`Installing ${program}, which may take a minute or two`);
  for (const name of packages) await installPackage(name);
  const installed = await find();
  if (installed === undefined) throw new Error(`${program} was installed, and is not on the PATH`);
  return installed;
}
