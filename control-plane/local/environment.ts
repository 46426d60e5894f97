/** The environment of this process, as config.ts reads it. */
import { readFileSync } from 'node:fs';
import { withLimitsFile } from '../../shared/settings/limits-file.ts';

/** Limits may be in a file. */
export const environment = (env: NodeJS.ProcessEnv = process.env) =>
  withLimitsFile(env, (path) => readFileSync(path, 'utf8'));
