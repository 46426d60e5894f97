/**
 * Turn waits check: however much one user requests at a moment, a turn waits for a bounded number of round
 * trips, and so does the submission of another user beside it (C330, C331). A call to the database takes less
 * than 1 ms of simulated time once the faults have stopped.
 */
import type { KnownActor } from '../../../../control-plane/core/accounts/account.ts';
import type { Requests } from '../plane/requests.ts';
import type { World } from '../world/time.ts';

const CHANGES = 300;
/** For each execution that waits. */
const EXPLANATIONS = 10;
/** A request takes up to 10 ms until it is with the control plane. */
const MAX_ANSWER_MS = 40;
const MAX_BURST_MS = 60_000;

export interface TurnWaitsOptions {
  world: World;
  requests: Requests;
  /** The user who requests much. */
  user: KnownActor;
  waiting: readonly number[];
  /** Submits an execution of another user, and resolves once the answer is there. */
  submit(): Promise<void>;
}

export async function checkTurnWaits(options: TurnWaitsOptions): Promise<void> {
  const { world, requests, user, waiting, submit } = options;
  const userId = user.user.id;
  let changed = 0;
  let explained = 0;
  let answeredMs: number | undefined;
  const begunMs = world.nowMs;
  for (let at = 0; at < CHANGES; at++) {
    const quota = { name: `quota ${begunMs} ${at}`, concurrentExecutions: 1, memoryBytes: 0, cores: 0 };
    const key = { userId, key: `quota ${begunMs} ${at}`, digest: 'of the quota' };
    void requests.send(
      `creation ${at} of a quota`,
      (c) => c.changeAccounts({ kind: 'create-quota', quota }, key),
      ({ done }) => {
        changed += Number(done);
      },
    );
  }
  for (const id of waiting.flatMap((one) => Array.from({ length: EXPLANATIONS }, () => one)))
    void requests.send(
      `explanation of execution ${id}`,
      (c) => c.explain(id, user),
      () => {
        explained += 1;
      },
    );
  void submit().then(() => {
    answeredMs = world.nowMs;
  });
  const isAnswered = () => changed === CHANGES && explained === waiting.length * EXPLANATIONS;
  while (!(isAnswered() && answeredMs !== undefined) && world.nowMs < begunMs + MAX_BURST_MS)
    await world.run(1);
  if (!isAnswered())
    world.violate(
      `of a burst of ${CHANGES} changes, ${changed} were made and ${explained} explanations given`,
    );
  const tookMs = (answeredMs ?? Number.POSITIVE_INFINITY) - begunMs;
  if (tookMs > MAX_ANSWER_MS)
    world.violate(`beside a burst of another user, a submission took ${tookMs} ms, at most ${MAX_ANSWER_MS}`);
  world.count('burst: answered');
  world.demandNoViolation();
}
