/** Random lives of a small cluster, and checks of them. A failing seed becomes a named test. */
import type { Quota } from '../../../control-plane/core/accounts/account.ts';
import type { Execution } from '../../../control-plane/core/model/execution.ts';
import { isBeyond, loadOf, plus, present } from '../fixtures/caps.ts';
import { cases, fc } from '../tools/random-cases.ts';
import { type Check, ELASTIC, type Operation, operation, Simulation } from './core-simulation.ts';

export const lives = fc.array(operation, { minLength: 20, maxLength: 150, size: 'max' });
export const RUNS = cases(15);
/** Checks rules after every turn of random lives, and a property after each life. */
export const checkLives = (
  property: (simulation: Simulation) => void,
  check: Check,
  before: readonly Operation[] = [],
  runs: { numRuns: number; seed?: number } = RUNS,
) =>
  fc.assert(
    fc.property(lives, (operations) => {
      const simulation = new Simulation(check);
      simulation.run([...before, ...operations]);
      property(simulation);
    }),
    runs,
  );

/** An execution whose elastic services run wherever there is capacity. */
export const elasticEverywhere: readonly Operation[] = [
  ...[0, 1].map((host) => ({ do: 'connect' as const, host })),
  { do: 'submit', which: ELASTIC, user: 0 },
  ...[0, 1, 0, 1].flatMap((host) => [
    ...Array.from({ length: 20 }, (_, which) => ({ do: 'step', host, which, script: 'well' }) as const),
    { do: 'report' as const, host },
  ]),
];

export const capsOf = ({ rig: { cluster } }: Simulation, { userId }: Execution): Quota =>
  cluster.quotas.get(cluster.users.get(userId)?.quotaId ?? 0) as Quota;

/** Whether the quota of its user prevents a start. */
export function isOverQuota(simulation: Simulation, execution: Execution): boolean {
  const essential = execution.services.filter((one) => one.essential);
  const wanted = loadOf(1, essential);
  const load = plus(present(simulation.submitted, execution.userId), wanted);
  return isBeyond(capsOf(simulation, execution), load, wanted);
}
