/** Owns the use cases that make hosts: an administrator's join token, and the registration of an agent with it. */
import { randomBytes } from 'node:crypto';
import type { RegistrationBody } from '../../../shared/protocol/enrolment.ts';
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { assertUsable, JOIN_TOKEN_MS } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import { findJoinToken, insertJoinToken } from '../../store/accounts/join-tokens.ts';
import type { Db } from '../../store/db/db.ts';
import { digest } from '../accounts/digest.ts';
import type { Input } from '../accounts/write-outcome.ts';
import type { Context } from '../context.ts';

/** What an administrator decides beforehand of the host that is to come. */
export interface JoinTokenInput {
  /** The only name it is good for; any where it is left out. */
  name?: string | undefined;
  /** Besides those of the agent's settings. */
  labels?: readonly string[] | undefined;
}

export interface NewJoinToken {
  token: string;
  expiresMs: number;
}

/** A token with which one agent can make one host. It is told here and nowhere else. */
export async function createJoinToken(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  input: Input<JoinTokenInput>,
  nowMs: number,
): Promise<NewJoinToken> {
  authorise(actor, { kind: 'configure' });
  return makeJoinToken(db, nowMs, await input());
}

/** The same for whoever has the database in hand: a control plane that brings its own agent. */
export async function makeJoinToken(
  db: Db,
  nowMs: number,
  { name, labels = [] }: JoinTokenInput = {},
): Promise<NewJoinToken> {
  const token = randomBytes(24).toString('base64url');
  const expiresMs = nowMs + JOIN_TOKEN_MS;
  await insertJoinToken(db, { hash: digest(token), name: name ?? null, labels, expiresMs }, nowMs);
  return { token, expiresMs };
}

/**
 * Makes the host of an agent that has a join token; resolves to its id. The token is the authorisation: who has none gets no
 * further than one reading of the database. That it is used once is the coordinator's to see.
 */
export async function registerHost(
  { db, coordinator, deploymentName }: Context,
  joinToken: string | undefined,
  input: Input<RegistrationBody>,
  nowMs: number,
): Promise<number> {
  if (!joinToken)
    throw new OperationError('bad-token', 'Send the join token: Authorization: Bearer <token>.');
  const tokenHash = digest(joinToken);
  assertUsable(await findJoinToken(db, tokenHash), nowMs);
  const { deployment, name, publicKey } = await input();
  if (deployment !== deploymentName) {
    const way = `set BERTH_DEPLOYMENT_NAME=${deploymentName}, or BERTH_URL to the other control plane`;
    throw new OperationError('conflict', `This is deployment ${deploymentName}, not ${deployment}: ${way}.`);
  }
  return coordinator.registerHost({ tokenHash, name, publicKey: publicKey.x });
}
