/**
 * Audit check: what a user submits or deletes has its entry in the same commit, and what is not made has none
 * (C265).
 */
import type { Change } from '../world/store.ts';
import { Check } from './check.ts';

export class AuditCheck extends Check {
  readonly #deleted = new Set<number>();

  /** Checks the changes of a commit. The ledger must not contain them yet. */
  check(changes: readonly Change[]): void {
    const targets = (action: string) =>
      changes.flatMap(({ table, row }) =>
        table === 'audit' && row?.action === action ? [Number(row.target_id)] : [],
      );
    const made = changes.flatMap(({ table, id, row }) =>
      table === 'executions' && row && !this.ledger.executions.has(id) ? [id] : [],
    );
    const audited = targets('submit-execution');
    // A row may change again in the commit that makes it.
    for (const id of new Set(made))
      if (audited.filter((one) => one === id).length !== 1)
        this.violate(`execution ${id} is made with ${audited.length} entries in the audit log`);
    for (const id of audited)
      if (!made.includes(id)) this.violate(`the audit log has the submission of ${id}, which is not made`);
    for (const id of targets('delete-execution')) this.#checkDeletion(id, changes);
  }

  /** A deletion was answered. */
  deleted(id: number): void {
    this.world.count('audit: deletion');
    if (!this.#deleted.has(id))
      this.violate(`the deletion of execution ${id} is acknowledged without an entry in the audit log`);
  }

  #checkDeletion(id: number, changes: readonly Change[]): void {
    this.#deleted.add(id);
    const isMade = changes.some(
      ({ table, id: changed, row }) =>
        table === 'executions' && changed === id && (!row || row.deleted === 1),
    );
    if (!isMade) this.violate(`the audit log has the deletion of ${id}, which is not made`);
  }
}
