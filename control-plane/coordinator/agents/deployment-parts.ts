/** What assignments have from the deployment: its name, its networks, and proofs that its key makes. */
import type { ContainerExtras } from '../../../shared/expand.ts';
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
  containerExtras?: ContainerExtras | undefined;
}

export interface DeploymentParts {
  name: string;
  isolation: Isolation;
  /** The proof of the ids (P143). */
  proofOf(ids: { execution: number; service: number }): string;
  apps: Pick<AppAddresses, 'paths'>;
  containerExtras: ContainerExtras | undefined;
}

/** `idKey`: the key that proofs are made with. */
export function deploymentParts(
  { deploymentName: name, isolation = 'user', idCode, appPaths: origin, containerExtras }: DeploymentDeps,
  idKey: string,
): DeploymentParts {
  const keyOf = (ids: { service: number; port: number }) => appKey(ids, idCode.appProofOf(idKey, ids));
  return {
    name,
    isolation,
    containerExtras,
    proofOf: (ids) => idCode.proofOf(idKey, ids),
    apps: origin === undefined ? {} : { paths: { origin, keyOf } },
  };
}
