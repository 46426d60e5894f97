import { expect, test } from 'vitest';
import {
  type CoordinatorApi,
  coordinatorVerbs,
} from '../../../../control-plane/coordinator/coordinator-api.ts';
import {
  type CoordinatorStub,
  callVerb,
  coordinatorClient,
  outcomeOf,
} from '../../../../control-plane/coordinator/runtime/remote-call.ts';
import { OperationError } from '../../../../control-plane/core/model/errors.ts';

/**
 * A stub of `coordinator` as the Durable Object serves it. Arguments and outcomes are copied, as RPC copies
 * them.
 */
const stubOf = (coordinator: CoordinatorApi): CoordinatorStub => ({
  call: async (verb, args) =>
    structuredClone(
      await outcomeOf(() => callVerb(coordinator, verb as 'submit', structuredClone(args) as never)),
    ),
});

/** A coordinator whose every verb calls `run`. */
const coordinatorOf = (run: (verb: string, args: unknown[]) => Promise<unknown>): CoordinatorApi =>
  Object.fromEntries(
    coordinatorVerbs.map((verb) => [verb, (...args: unknown[]) => run(verb, args)]),
  ) as unknown as CoordinatorApi;

test.each(coordinatorVerbs)(
  'a call across RPC passes the arguments of %s, and returns its value',
  async (verb) => {
    const client = coordinatorClient(() => stubOf(coordinatorOf(async (called, args) => ({ called, args }))));
    const call = client[verb] as (...args: unknown[]) => Promise<unknown>;
    expect(await call(7, { force: true })).toEqual({ called: verb, args: [7, { force: true }] });
  },
);

test('a call across RPC rejects with the OperationError of the coordinator, or with `unavailable` if the call itself fails', async () => {
  const error = new OperationError('too-many', 'Wait.', { retryAfterS: 15 });
  const client = coordinatorClient(() => stubOf(coordinatorOf(() => Promise.reject(error))));
  const failed = await client.ready().catch((thrown) => thrown);
  expect(failed).toBeInstanceOf(OperationError);
  expect(failed).toMatchObject({ code: 'too-many', message: 'Wait.', retryAfterS: 15 });
  const cause = new Error('the object was reset');
  const broken = coordinatorClient(() => ({ call: () => Promise.reject(cause) }));
  await expect(broken.state()).rejects.toMatchObject({ code: 'unavailable', cause });
});

test.each(['wake', 'connect', 'constructor', 'toString'])(
  'a call across RPC never reaches the method %s',
  async (name) => {
    const coordinator = Object.assign(
      coordinatorOf(async () => 1),
      { wake: () => 1, connect: () => 1 },
    );
    await expect(stubOf(coordinator).call(name, [])).rejects.toThrow(`the coordinator has no verb ${name}`);
  },
);

test('a call across RPC takes a new stub each time', async () => {
  let stubs = 0;
  const client = coordinatorClient(() => {
    stubs += 1;
    return stubOf(coordinatorOf(async () => null));
  });
  await client.ready();
  await client.ready();
  expect(stubs).toBe(2);
});
