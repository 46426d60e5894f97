/** Context: what every operation receives besides the actor and its input. */
import type { ContainerExtras } from '../../shared/expand.ts';
import type { CoordinatorApi, OpenLog } from '../coordinator/coordinator-api.ts';
import type { SignOnSettings } from '../core/accounts/sign-on.ts';
import type { AppSite } from '../core/apps/app-site.ts';
import type { RequestKey } from '../core/model/idempotency.ts';
import type { ReadTurns } from '../guard/read-turns.ts';
import type { UserShares } from '../guard/user-shares.ts';
import type { Db } from '../store/db/db.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { Seal } from './secrets/seal.ts';

export interface Context {
  db: Db;
  coordinator: CoordinatorApi;
  openLog: OpenLog;
  deploymentName: string;
  /** In characters, of new passwords. */
  minPasswordLength: number;
  /** The memory limit of services that state none; 0: no limit. Absent where nothing shows it. */
  defaultMemoryBytes?: number | undefined;
  /** For reads of long descriptions and lists. */
  turns: ReadTurns;
  /** What one user may have under way at a time. */
  shares: UserShares;
  /** Encrypts and decrypts the values of secrets. */
  seal: Seal;
  /** Hashes new passwords. */
  passwords: Passwords;
  nowMs: () => number;
  /** Undefined if nobody signs on by a provider. */
  signOn?: SignOnSettings | undefined;
  /** Undefined: web applications have no addresses but those that hosts publish. */
  appPlaces?: AppPlaces | undefined;
  containerExtras?: ContainerExtras | undefined;
}

/** Where web applications are. */
export interface AppPlaces {
  /** BERTH_APPS_URL. */
  hosts?: AppSite | undefined;
  /** BERTH_APPS_PATHS. */
  paths?: string | undefined;
  /** The proof in the path of a port, made with the key of the database. */
  proofOf(key: string, ids: { service: number; port: number }): string;
}

/** Reads the idempotency key of a request, if it has one. Called after the input was read. */
export type ReadKey = () => RequestKey | undefined;
