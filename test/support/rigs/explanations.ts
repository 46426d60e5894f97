/** Explanations of executions and of applications, in the pure core. */
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import {
  type Explanation,
  explain,
  explainSubmission,
} from '../../../control-plane/core/views/explanation.ts';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { application, service } from '../fixtures/applications.ts';
import { CoreRig, hostFacts, loadedExecution } from './core-rig.ts';

export const GIB = 1024 ** 3;
export const NOT_ENOUGH = 'Waiting alone is not enough: it would not fit even if nothing else ran.';
export const ENOUGH = 'Waiting is enough: it fits when enough running services have ended.';

export const of = (changes: Partial<ServiceDescription>): Application => application(service(changes));

/** A rig with hosts of 8 GiB and 4 cores each. */
export function rigOf(...names: string[]): CoreRig {
  const rig = new CoreRig();
  for (const name of names) rig.hello(hostFacts(name));
  rig.turn();
  return rig;
}

export const explained = (rig: CoreRig, execution: Execution): Explanation =>
  explain(rig.cluster, execution, rig.nowMs);

/** The explanation of a submitted application that is not placed. */
export function waiting(rig: CoreRig, described: Application): Explanation {
  const execution = rig.submitInTurn(described);
  return explained(rig, execution);
}

/** The explanation of an application that is not submitted. */
export function draft(rig: CoreRig, described: Application): Explanation {
  rig.turn();
  const submission = { userId: 1, name: 'draft', application: described, description: '' };
  return explainSubmission(
    rig.cluster,
    loadedExecution({ ...rig.cluster.nextIds }, submission, rig.nowMs),
    rig.nowMs,
  );
}
