/** Reads what credentials authenticate now, each at most once for all subscribers of a review. */
import type { Account } from '../../core/accounts/account.ts';
import type { LogSubscriber } from '../../core/streams/channel-subscriber.ts';
import { findAccountByCredential } from '../../store/accounts/users.ts';
import type { Db } from '../../store/db/db.ts';

/** The function that it returns rejects if the database can't be read. */
export function accountReader(
  db: Db,
  nowMs: number,
): (subscriber: Pick<LogSubscriber, 'userId' | 'credential'>) => Promise<Account | undefined> {
  const accounts = new Map<string, Promise<Account | undefined>>();
  return ({ userId, credential }) => {
    const key = JSON.stringify([userId, credential]);
    const account = accounts.get(key) ?? findAccountByCredential(db, userId, credential, nowMs);
    accounts.set(key, account);
    return account;
  };
}
