/** What assignments have from the deployment: its name, its networks, and proofs that its key makes. */
import type { Isolation } from '../../../shared/protocol/assignment.ts';
import { type AppAddresses, appKey } from '../../core/apps/app-address.ts';
import type { IdCode } from '../ports.ts';

export interface DeploymentDeps {
  deploymentName: string;
  idCode: IdCode;
  /** Which containers share networks (P91). Default: those of a user. */
  isolation?: Isolation;
  /** BERTH_APPS_PATHS. Undefined: no application has a path. */
  appPaths?: string | undefined;
  /** The group of all users, where containers look as on the earlier platform (H738). */
  zoeGid?: number | undefined;
}

export interface DeploymentParts {
  name: string;
  isolation: Isolation;
  /** The proof of the ids (P143). */
  proofOf(ids: { execution: number; service: number }): string;
  apps: Pick<AppAddresses, 'paths'>;
  zoeGid: number | undefined;
}

/** `idKey`: the key that proofs are made with. */
export function deploymentParts(
  { deploymentName: name, isolation = 'user', idCode, appPaths: origin, zoeGid }: DeploymentDeps,
  idKey: string,
): DeploymentParts {
  const keyOf = (ids: { service: number; port: number }) => appKey(ids, idCode.appProofOf(idKey, ids));
  return {
    name,
    isolation,
    zoeGid,
    proofOf: (ids) => idCode.proofOf(idKey, ids),
    apps: origin === undefined ? {} : { paths: { origin, keyOf } },
  };
}
