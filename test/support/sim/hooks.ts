/**
 * Module hooks that replace parts of the program in a simulation and load the rest unchanged (TEST-1). The
 * agent's files are on simulated disks; its sockets lead into the simulated network. The files that a mutant
 * reaches are copies (`graphs.ts`). `main.ts` imports the hooks before it imports any other file.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { textInGraph, urlInGraph } from './graphs.ts';

const ROOT = new URL('../../../', import.meta.url).href;
/** Path prefix of the importing file, the module it imports, and the replacement. */
const REPLACEMENTS: readonly [string, string, string][] = [
  ['agent/logs/', 'node:fs', './machine/fs.ts'],
  ['agent/services/lease.ts', 'node:fs', './machine/fs.ts'],
  ['agent/logs/', 'node:fs/promises', './machine/fs-promises.ts'],
  ['agent/', 'ws', './machine/ws.ts'],
];

registerHooks({
  resolve(specifier, context, next) {
    const parent = context.parentURL ?? '';
    const replacement = REPLACEMENTS.find(
      ([from, what]) => what === specifier && parent.startsWith(ROOT + from),
    );
    const resolved = replacement
      ? next(new URL(replacement[2], import.meta.url).href, context)
      : next(specifier, context);
    return { ...resolved, url: urlInGraph(resolved.url, parent) };
  },
  load(url, context, next) {
    const source = textInGraph(url, () => readFileSync(new URL(url), 'utf8'));
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true };
  },
});
