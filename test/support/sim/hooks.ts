/**
 * Module hooks that replace parts of the program in a simulation and load the rest unchanged (TEST-1). The
 * agent's files are on simulated disks; its sockets lead into the simulated network. The variable `MUTANT`
 * names a mutant to apply. `main.ts` imports the hooks before it imports any other file.
 */
import { registerHooks } from 'node:module';
import { mutate } from './mutants/mutant.ts';
import { mutants } from './mutants/mutants.ts';

const ROOT = new URL('../../../', import.meta.url).href;
/** Path prefix of the importing file, the module it imports, and the replacement. */
const REPLACEMENTS: readonly [string, string, string][] = [
  ['agent/logs/', 'node:fs', './machine/fs.ts'],
  ['agent/services/lease.ts', 'node:fs', './machine/fs.ts'],
  ['agent/logs/', 'node:fs/promises', './machine/fs-promises.ts'],
  ['agent/', 'ws', './machine/ws.ts'],
];

const name = process.env.MUTANT;
const mutant = name === undefined ? undefined : mutants.find((one) => one.name === name);
if (name !== undefined && !mutant)
  throw new Error(`MUTANT=${name} is not a mutant; the names are in test/support/sim/mutants`);

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? '';
    const replacement = REPLACEMENTS.find(
      ([from, what]) => what === specifier && parent.startsWith(ROOT + from),
    );
    return replacement
      ? next(new URL(replacement[2], import.meta.url).href, context)
      : next(specifier, context);
  },
  load(url, context, next) {
    const loaded = next(url, context);
    if (!mutant || url !== ROOT + mutant.file) return loaded;
    return { ...loaded, source: mutate(String(loaded.source), mutant) };
  },
});
