/** Inputs of a turn: the changes that callers request, and the steps that a turn runs for them (turns.ts). */
import { reconciling } from '../core/lifecycle/reconciler.ts';
import { OperationError } from '../core/model/errors.ts';
import type { Execution } from '../core/model/execution.ts';
import type { Cluster } from '../core/state/cluster.ts';
import type { Decision } from '../core/state/decision.ts';
import type { ReviewRecord } from '../store/cluster/history-rows.ts';
import type { Epoch } from '../store/db/epoch.ts';
import type { Loader } from './loader.ts';
import type { Clock } from './ports.ts';

export interface State {
  epoch: Epoch;
  cluster: Cluster;
  /** The key that proofs of ids are made with (ports.ts). */
  idKey: string;
  reviewRecord: ReviewRecord;
  sampledMs: number;
}

/**
 * A change that a caller requests. `run` must not wait, and may throw OperationError only before it changes
 * anything.
 */
export interface Input {
  /**
   * What becomes of the input while another process holds the write lock. A view is answered from the last
   * commit, and a report waits. Absent: a change, which is refused.
   */
  kind?: 'view' | 'report';
  /** The user who requests the change; undefined for what agents and Berth itself do. */
  userId?: number | undefined;
  /**
   * Reads from the database what `run` requires; called together with all other reads of the turn, before
   * any `run`. A rejection fails only this input. The turn waits for one read: what takes several must read
   * before it is added.
   */
  read?(): Promise<void>;
  /**
   * Called before any `run`, once the database has confirmed that no later coordinator has taken over.
   * `problem`: it did not answer. A turn asks once for all its inputs. An error fails the turn.
   */
  confirmed?(problem: unknown): void;
  /** Executions whose services must be in memory for `run` and `done`; called right before `run`. */
  requires?(cluster: Cluster, nowMs: number): readonly Execution[];
  run(cluster: Cluster, nowMs: number): void;
  /** Called after the commit, in the order of the inputs, before the turn's decisions are sent. */
  done?(cluster: Cluster, nowMs: number): void;
  fail(error: unknown): void;
  /**
   * The input runs again on new state if the database refused what its turn wrote for it. Only for inputs
   * that take everything from the state.
   */
  mayRunAgain?: boolean;
}

/** The input can't be decided in this turn: it runs again in the next one. */
export class NextTurnError extends OperationError {
  constructor() {
    super('unavailable', 'Another request of the same moment must be complete first; try again.');
  }
}

/** Awaits a query, and converts its errors: callers of the coordinator receive only OperationError. */
export async function readDatabase<T>(query: Promise<T>): Promise<T> {
  try {
    return await query;
  } catch (cause) {
    throw new OperationError('unavailable', 'The database does not answer; try again later.', { cause });
  }
}

/** Calls all functions, even if some throw. Returns the first error. */
export function callAll(calls: readonly (() => void)[]): unknown {
  let fault: unknown;
  for (const call of calls) {
    try {
      call();
    } catch (error) {
      fault ??= error;
    }
  }
  return fault;
}

/**
 * Runs the `read` of each input. An input whose read fails is answered at once and left out; it has changed
 * nothing.
 */
export async function readAll(inputs: readonly Input[]): Promise<Input[]> {
  const outcomes = await Promise.allSettled(
    inputs.map((input) => (input.read ? readDatabase(input.read()) : undefined)),
  );
  return inputs.filter((input, at) => {
    const outcome = outcomes[at];
    if (outcome?.status === 'rejected') input.fail(outcome.reason);
    return outcome?.status === 'fulfilled';
  });
}

/**
 * Runs the inputs in order. An input that is refused is answered at once and left out; it has changed
 * nothing, like those that the next turn runs, which `postpone` takes.
 */
export async function runAll(
  inputs: readonly Input[],
  cluster: Cluster,
  nowMs: number,
  loader: Loader,
  postpone: (input: Input) => void,
): Promise<Input[]> {
  const required = new Set(inputs.flatMap((input) => input.requires?.(cluster, nowMs) ?? []));
  if (required.size > 0) await loader.load(cluster, [...required]);
  const accepted: Input[] = [];
  for (const input of inputs) {
    try {
      input.run(cluster, nowMs);
      accepted.push(input);
    } catch (error) {
      if (error instanceof NextTurnError) postpone(input);
      else if (error instanceof OperationError) input.fail(error);
      else throw error;
    }
  }
  return accepted;
}

/** Decides what follows from the state, and loads the services that the decisions need. */
export async function decideAll(cluster: Cluster, nowMs: number, loader: Loader): Promise<Decision[]> {
  const steps = reconciling(cluster, nowMs);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const missing = loader.loadKept(cluster, step.value);
    if (missing.length > 0) await loader.load(cluster, missing);
  }
}

/** Commits that take less are not worth waiting for others. */
const LONG_COMMIT_MS = 10;
/** A turn that took more shows that the database is in trouble. */
const LONGEST_COMMIT_MS = 1_000;
/** The longest wait, as a part of the time that the last turn took, and in all. */
const WAIT_SHARE = 1 / 3;
const MAX_WAIT_MS = 15;

/**
 * Waits between turns for clients that were just answered and send their next requests: without it, half of
 * them share a commit while the other half wait for it, in turns (C223).
 */
export class Gathering {
  readonly #clock: Pick<Clock, 'after'>;
  #missing = 0;
  #complete: () => void = () => {};

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** An input was added. */
  added({ mayRunAgain }: Input): void {
    if (mayRunAgain && --this.#missing === 0) this.#complete();
  }

  /** Resolves once as many requests wait as the turn has answered, besides those that wait already. */
  async afterTurn(inputs: readonly Input[], tookMs: number): Promise<void> {
    const answered = inputs.filter(({ mayRunAgain }) => mayRunAgain).length;
    if (answered < 2 || tookMs < LONG_COMMIT_MS || tookMs > LONGEST_COMMIT_MS) return;
    this.#missing = answered;
    await new Promise<void>((resolve) => {
      this.#complete = resolve;
      this.#clock.after(Math.min(MAX_WAIT_MS, tookMs * WAIT_SHARE), resolve);
    });
    this.#missing = 0;
  }
}
