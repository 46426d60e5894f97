/** The test files that changes of the working tree can reach. */
import { FOLDERS, sourcesIn } from './sources.ts';
import { readTool } from './tool.ts';

/** Tests that read the project's files instead of importing them. */
const READERS = /^test\/unit\/tools\//;
/** Tests that start the program instead of importing it. */
const STARTERS = /^test\/smoke\//;
const PROGRAM = /^(agent|client|cli|control-plane|examples|shared)\//;

/** Files below `folders` that differ from HEAD, or that import such files, directly or not. */
export async function reachedByChanges(folders: readonly string[]): Promise<string[]> {
  const changed = await readTool('git', ['diff', '--name-only', 'HEAD']);
  const added = await readTool('git', ['ls-files', '--others', '--exclude-standard']);
  const files = `${changed}${added}`.split('\n').filter((path) => path !== '');
  return testsReaching(files, sourcesIn(...FOLDERS)).filter((path) =>
    folders.some((folder) => path.startsWith(`${folder}/`)),
  );
}

/** Pure. The test files among `sources` that changes of `files` can reach. */
export function testsReaching(
  files: readonly string[],
  sources: readonly { path: string; imports: readonly { file: string | undefined }[] }[],
): string[] {
  const importers = new Map<string, string[]>();
  for (const { path, imports } of sources)
    for (const { file } of imports) if (file) importers.set(file, [...(importers.get(file) ?? []), path]);
  const reached = new Set(files);
  for (const path of reached) for (const importer of importers.get(path) ?? []) reached.add(importer);
  const isChanged = files.length > 0;
  const changesProgram = files.some((path) => PROGRAM.test(path));
  const isReached = (path: string) =>
    reached.has(path) || (isChanged && READERS.test(path)) || (changesProgram && STARTERS.test(path));
  return sources.map(({ path }) => path).filter((path) => path.endsWith('.test.ts') && isReached(path));
}
