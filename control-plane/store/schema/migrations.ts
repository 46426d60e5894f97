/** The schema: the baseline, and each later change of it. Add new ones at the end (STORE-3). */
import { baseline } from './baseline.ts';
import type { Migration } from './migrate.ts';

export const migrations: readonly Migration[] = [baseline];
