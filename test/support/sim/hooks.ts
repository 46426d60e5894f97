/**
 * Owns what of the program is another thing in a simulation, and loads the rest as it is: the agent's files lie on
 * simulated disks, its sockets lead into the simulated network. With `MUTANT` one line of the sources is changed, so
 * that the checkers can be seen to find it. Loaded by `node --import` before anything else.
 */
import { registerHooks } from 'node:module';
import { mutants, mutate } from './faults/mutants.ts';

const ROOT = new URL('../../../', import.meta.url).href;
/** Folder of the importer, what it imports, and what it gets. */
const STAND_INS: readonly [string, string, string][] = [
  ['agent/logs/', 'node:fs', './machine/fs.ts'],
  ['agent/services/lease.ts', 'node:fs', './machine/fs.ts'],
  ['agent/logs/', 'node:fs/promises', './machine/fs-promises.ts'],
  ['agent/', 'ws', './machine/ws.ts'],
];

const name = process.env.MUTANT;
const mutant = name === undefined ? undefined : mutants.find((one) => one.name === name);
if (name !== undefined && !mutant) throw new Error(`there is no mutant ${name}`);

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? '';
    const standIn = STAND_INS.find(([from, what]) => what === specifier && parent.startsWith(ROOT + from));
    return standIn ? next(new URL(standIn[2], import.meta.url).href, context) : next(specifier, context);
  },
  load(url, context, next) {
    const loaded = next(url, context);
    if (!mutant || url !== ROOT + mutant.file) return loaded;
    return { ...loaded, source: mutate(String(loaded.source), mutant) };
  },
});
