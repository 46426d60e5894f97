/** Reads application descriptions. */
import { readFile } from 'node:fs/promises';
import type { Terminal } from './terminal/terminal.ts';

/** A description as far as the command line looks into it. The server checks it. */
export interface Description {
  name: string;
}

/** The file in a sentence. */
export const nameOf = (path: string): string => (path === '-' ? 'The standard input' : path);

/** `path`: of a JSON file; `-` is the standard input. */
export async function readDescription(path: string, terminal: Terminal): Promise<Description> {
  const text = path === '-' ? await terminal.input() : await readFile(path, 'utf8');
  const where = nameOf(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${where} is not JSON: ${(error as Error).message}`);
  }
  if (typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string')
    return value as Description;
  throw new Error(`${where} is no application description: it has no name.`);
}
