/** Environments of control planes: this process's, as config.ts reads it, and files of them for wrangler. */
import { readFileSync } from 'node:fs';
import { withLimitsFile } from '../../shared/settings/limits-file.ts';

/** Limits may be in a file. */
export const environment = (env: NodeJS.ProcessEnv = process.env) =>
  withLimitsFile(env, (path) => readFileSync(path, 'utf8'));

/** The text of a file of variables. A value in single quotes or backticks is literal, as JSON needs to be. */
export const variablesText = (variables: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(variables)
    .map(([name, value = '']) => `${name}=${quoted(value)}\n`)
    .join('');

function quoted(value: string): string {
  const quote = ["'", '`'].find((one) => !value.includes(one));
  return quote === undefined ? JSON.stringify(value) : `${quote}${value}${quote}`;
}
