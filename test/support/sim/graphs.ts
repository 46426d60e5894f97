/**
 * Graphs of the simulation's modules: the plain one, and one for each mutant with copies of the files that
 * the mutant reaches. These are its file and all files that import one of them. A query in their URL makes
 * them modules of their own. A process loads all other modules once, for all graphs (TEST-20).
 */
import { stripTypeScriptTypes } from 'node:module';
import { type Mutant, mutate } from './mutants/mutant.ts';
import type { simulate } from './simulate.ts';

const ROOT = new URL('../../../', import.meta.url).href;
const ENTRY = new URL('./simulate.ts', import.meta.url).href;
const PACKAGES = '/node_modules/';

interface Copy {
  mutant: Mutant;
  /** URLs of the files that the mutant reaches. */
  reached: ReadonlySet<string>;
  isApplied: boolean;
}

/** The files that import a file, by its URL. */
const importers = new Map<string, Set<string>>();
/** JavaScript of the files that were copied without a change, by their URL. */
const texts = new Map<string, string>();
/** By the query of its URLs. */
const copies = new Map<string, Copy>();

/** Loads the simulation with a mutant. Throws if the mutant's line was not reached. */
export async function loadSimulation(mutant?: Mutant): Promise<typeof simulate> {
  const { simulate: plain } = await import('./simulate.ts');
  if (!mutant) return plain;
  const query = `?mutant=${copies.size}`;
  const copy: Copy = { mutant, reached: reachedFrom(ROOT + mutant.file), isApplied: false };
  copies.set(query, copy);
  const { simulate: mutated } = await import(`${ENTRY}${query}`);
  if (!copy.isApplied) throw new Error(`the simulation does not load ${mutant.file}`);
  return mutated;
}

/** URL under which a module imports a file: that of its own graph. */
export function urlInGraph(url: string, parent: string): string {
  if (!url.startsWith(ROOT) || url.includes(PACKAGES)) return url;
  const at = parent.indexOf('?');
  if (at >= 0) return copies.get(parent.slice(at))?.reached.has(url) ? url + parent.slice(at) : url;
  const known = importers.get(url) ?? new Set();
  importers.set(url, known.add(parent));
  return url;
}

/** The JavaScript of a copy, with the mutant of its graph; undefined for a module that is not a copy. */
export function textInGraph(url: string, read: () => string): string | undefined {
  const [plain = url, query] = url.split('?');
  const copy = copies.get(`?${query}`);
  if (!copy) return undefined;
  if (plain === ROOT + copy.mutant.file) {
    copy.isApplied = true;
    return stripTypeScriptTypes(mutate(read(), copy.mutant));
  }
  const text = texts.get(plain) ?? stripTypeScriptTypes(read());
  texts.set(plain, text);
  return text;
}

/** The file and all that import it, directly or not, and the entry. */
function reachedFrom(file: string): ReadonlySet<string> {
  const reached = new Set([file, ENTRY]);
  for (const url of reached) for (const importer of importers.get(url) ?? []) reached.add(importer);
  return reached;
}
