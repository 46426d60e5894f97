/** Mutants: single-line changes of the sources that the checks of the simulation must find. */
import { agentMutants } from './agent-mutants.ts';
import { gatewayMutants } from './gateway-mutants.ts';
import type { Mutant } from './mutant.ts';
import { planeMutants } from './plane-mutants.ts';
import { schedulingMutants } from './scheduling-mutants.ts';
import { standbyMutants } from './standby-mutants.ts';
import { streamMutants } from './stream-mutants.ts';

export const mutants: readonly Mutant[] = [
  ...planeMutants,
  ...schedulingMutants,
  ...agentMutants,
  ...standbyMutants,
  ...gatewayMutants,
  ...streamMutants,
];
