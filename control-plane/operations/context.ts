/** Owns what every operation is given besides actor and input. */
import type { CoordinatorApi } from '../coordinator/coordinator-api.ts';
import type { Db } from '../store/db/db.ts';

export interface Context {
  db: Db;
  coordinator: CoordinatorApi;
  deploymentName: string;
}
