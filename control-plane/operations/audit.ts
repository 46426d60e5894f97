/**
 * Records refused changes of known accounts, and lists the audit log (ACC-13). A change that is made is
 * recorded by the transaction that makes it.
 */
import { type Actor, authorise, type ExpectedActor } from '../core/accounts/account.ts';
import {
  type AuditFilter,
  type AuditRow,
  type AuditTarget,
  auditTargets,
  type Deed,
  entryOf,
  isRecorded,
} from '../core/accounts/audit.ts';
import { OperationError } from '../core/model/errors.ts';
import { countRefusal, listAudit as listRows } from '../store/accounts/audit.ts';
import type { Context } from './context.ts';

/** Turns of the coordinator have the shares of these, or they last for long. */
const UNSHARED: ReadonlySet<AuditTarget> = new Set(['execution', 'service']);

/** Runs a change that the actor attempts, in its turn. A refusal is answered once it is recorded. */
export async function attempted<T>(
  { db, nowMs, shares }: Pick<Context, 'db' | 'nowMs' | 'shares'>,
  actor: Actor | ExpectedActor,
  deed: Deed,
  change: () => Promise<T>,
): Promise<T> {
  try {
    const isShared = actor.kind !== 'anonymous' && !UNSHARED.has(auditTargets[deed.action]);
    return await (isShared ? shares.run(actor.user.id, change) : change());
  } catch (error) {
    if (actor.kind !== 'anonymous' && error instanceof OperationError && isRecorded(error.code))
      await countRefusal(db, entryOf(actor, deed), error.code, nowMs());
    throw error;
  }
}

/** The latest rows that pass the filter, newest first. */
export async function listAudit(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  input: () => Promise<{ filter: AuditFilter; limit: number }>,
): Promise<AuditRow[]> {
  authorise(actor, { kind: 'read-audit' });
  const { filter, limit } = await input();
  return listRows(db, filter, limit);
}
