/** Programs that tests need: installed ones, else the packages of Debian, which need root. */
import { hasApt, installPackage, isRoot } from '../../../agent/local/debian.ts';
import { findProgram } from '../../../agent/system-programs.ts';

/**
 * The path of a program that is named as its package. `others` do the same, and `more` are packages that it
 * needs. `say` reports long steps.
 */
export async function ensureProgram(
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
  const found = await find();
  if (found) return found;
  if (!isRoot() || !(await hasApt()))
    throw new Error(`the tests need ${name}: install it (Debian: apt-get install ${name})`);
  say(`Installing ${name}, which may take a minute or two`);
  for (const one of [name, ...more]) await installPackage(one);
  const installed = await find();
  if (!installed) throw new Error(`${name} was installed, and is not on the PATH`);
  return installed;
}
