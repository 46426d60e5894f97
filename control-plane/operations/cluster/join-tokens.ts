/**
 * Use cases that create hosts: an administrator's join token, and the registration of an agent with it
 * (HOST-1).
 */
import { randomBytes } from 'node:crypto';
import type { RegistrationBody } from '../../../shared/protocol/enrolment.ts';
import { type Actor, authorise, type Origin } from '../../core/accounts/account.ts';
import { entryOf, entryWithoutUser } from '../../core/accounts/audit.ts';
import { assertUsable, JOIN_TOKEN_MS } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import { insertAuditOfChange } from '../../store/accounts/audit.ts';
import { findJoinToken, joinTokenStatements } from '../../store/accounts/join-tokens.ts';
import type { Db } from '../../store/db/db.ts';
import { digest } from '../accounts/digest.ts';
import { type Input, keyOf } from '../accounts/write-outcome.ts';
import { attempted } from '../audit.ts';
import type { Context, ReadKey } from '../context.ts';

/** What the administrator decides in advance about the new host. */
export interface JoinTokenInput {
  /** The only name that the host may register with; absent: any name. */
  name?: string | undefined;
  /** Added to the labels of the agent's own settings. */
  labels?: readonly string[] | undefined;
}

export interface NewJoinToken {
  token: string;
  expiresMs: number;
}

/**
 * Creates a token with which one agent can register one host. The token cannot be read again later, so a
 * repeat is `conflict`.
 */
export const createJoinToken = (
  context: JoinTokenContext,
  actor: Actor,
  input: Input<JoinTokenInput>,
  readKey?: ReadKey,
): Promise<NewJoinToken> =>
  attempted(context, actor, { action: 'create-join-token' }, () =>
    writeJoinToken(context, actor, input, readKey),
  );

type JoinTokenContext = Pick<Context, 'coordinator' | 'db' | 'nowMs' | 'shares'>;

async function writeJoinToken(
  context: JoinTokenContext,
  actor: Actor,
  input: Input<JoinTokenInput>,
  readKey: ReadKey | undefined,
): Promise<NewJoinToken> {
  const nowMs = context.nowMs();
  const account = authorise(actor, { kind: 'operate-hosts' });
  const created = randomToken(await input(), nowMs);
  const change = { kind: 'create-join-token', token: created.stored, nowMs } as const;
  // A join token has no name but that of its host.
  const targetName = created.stored.name ?? undefined;
  const entry = entryOf(account, { action: 'create-join-token', targetName });
  const written = await context.coordinator.changeAccounts(change, keyOf(account, readKey), entry);
  if (written.done && written.isRepeat)
    throw new OperationError(
      'conflict',
      'An earlier request with this Idempotency-Key has created a join token, which is shown only once. That one ' +
        `expires at ${new Date(written.id).toISOString()}. Create another one with a new key.`,
    );
  return created.shown;
}

/** Creates the token without an actor, for a control plane that starts its own agent. */
export async function makeJoinToken(db: Db, nowMs: number): Promise<NewJoinToken> {
  const { shown, stored } = randomToken({}, nowMs);
  const entry = entryWithoutUser('none', undefined, { action: 'create-join-token' });
  await db.batch([...joinTokenStatements(stored, nowMs), insertAuditOfChange(entry, nowMs)]);
  return shown;
}

function randomToken({ name, labels = [] }: JoinTokenInput, nowMs: number) {
  const token = randomBytes(24).toString('base64url');
  const expiresMs = nowMs + JOIN_TOKEN_MS;
  return {
    shown: { token, expiresMs },
    stored: { hash: digest(token), name: name ?? null, labels, expiresMs },
  };
}

/**
 * Registers the host of an agent and resolves to its id. The join token is the authorisation: a request
 * without a valid one costs a single read. The coordinator ensures that the token is used once.
 */
export async function registerHost(
  { db, coordinator, deploymentName, nowMs }: Context,
  joinToken: string | undefined,
  input: Input<RegistrationBody>,
  origin: Origin,
): Promise<number> {
  if (!joinToken)
    throw new OperationError('bad-token', 'Send the join token: Authorization: Bearer <token>.');
  const tokenHash = digest(joinToken);
  assertUsable(await findJoinToken(db, tokenHash), nowMs());
  const { deployment, name, publicKey } = await input();
  if (deployment !== deploymentName) {
    const way = `set BERTH_DEPLOYMENT_NAME=${deploymentName}, or BERTH_URL to the other control plane`;
    throw new OperationError('conflict', `This is deployment ${deploymentName}, not ${deployment}: ${way}.`);
  }
  return coordinator.registerHost({ tokenHash, name, publicKey: publicKey.x, origin });
}
