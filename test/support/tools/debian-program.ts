/** Programs of the tests that are packages of Debian. */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

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

/**
 * The path of a program that is named as its package. `others` do the same, and `more` are packages that it
 * needs.
 */
export function ensureProgram(
  name: string,
  { others = [], more = [] }: { others?: readonly string[]; more?: readonly string[] } = {},
  say: (line: string) => void = () => {},
): Promise<string> {
  const find = async () => {
    for (const one of [name, ...others]) {
      const path = await findProgram(one);
      if (path) return path;
    }
    return undefined;
  };
  return foundOrInstalled(find, { tests: 'the tests', program: name, packages: [name, ...more] }, say);
}
