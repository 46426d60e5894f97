/**
 * RPC to the coordinator's Durable Object: the method that the object offers, and the client that the Worker
 * uses. Errors lose their class across RPC, so they travel as values.
 */
import { OperationError } from '../../core/model/errors.ts';
import { type CoordinatorApi, type CoordinatorVerb, coordinatorVerbs } from '../coordinator-api.ts';
import type { Rejection } from './forward-upgrade.ts';

/** The result of a call: its value, or the fields of its OperationError. */
export type Outcome<T> = { value: T } | (Rejection & { retryAfterS?: number; isOthers?: true });

type Result<V extends CoordinatorVerb> = Awaited<ReturnType<CoordinatorApi[V]>>;

/** The part of a Durable Object's stub that the client uses. */
export interface CoordinatorStub {
  call(verb: string, args: readonly unknown[]): Promise<Outcome<unknown>>;
}

/** Runs `run`. An OperationError becomes an outcome; any other error is thrown. */
export async function outcomeOf<T>(run: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await run() };
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    const { code, message, retryAfterS, isOthers } = error;
    const further = { ...(retryAfterS !== undefined && { retryAfterS }), ...(isOthers && { isOthers }) };
    return { code, message, ...further };
  }
}

/** The value of an outcome. Throws its OperationError, or that the coordinator does not answer. */
export async function resultOf<T>(call: () => Promise<Outcome<T>>): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await call();
  } catch (cause) {
    throw new OperationError('unavailable', 'The coordinator does not answer; try again.', { cause });
  }
  if ('value' in outcome) return outcome.value;
  const { code, message, ...options } = outcome;
  throw new OperationError(code, message, options);
}

/** Calls one verb of the coordinator. Throws TypeError if `verb` is not a method of CoordinatorApi. */
export function callVerb<V extends CoordinatorVerb>(
  coordinator: CoordinatorApi,
  verb: V,
  args: Parameters<CoordinatorApi[V]>,
): Promise<Result<V>> {
  if (!coordinatorVerbs.includes(verb)) throw new TypeError(`the coordinator has no verb ${verb}`);
  return Reflect.apply(coordinator[verb], coordinator, args);
}

/** The coordinator as the Worker's operations use it. Each call takes a new stub. */
export function coordinatorClient(stub: () => CoordinatorStub): CoordinatorApi {
  const methods = coordinatorVerbs.map((verb) => [
    verb,
    (...args: unknown[]) => resultOf(() => stub().call(verb, args)),
  ]);
  return Object.fromEntries(methods);
}
