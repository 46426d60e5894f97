/**
 * Use cases on secrets and files of users and of all: set, list, remove, and encrypt with the present key.
 * No operation returns a value (ACC-18).
 */
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { type Deed, entryOf } from '../../core/accounts/audit.ts';
import {
  noSuchSecret,
  type Secret,
  type SecretKind,
  type SecretPlace,
  type SecretRules,
  tooManySecrets,
} from '../../core/accounts/secret.ts';
import { OperationError } from '../../core/model/errors.ts';
import { insertAuditOfChange, insertAudits } from '../../store/accounts/audit.ts';
import {
  countOutdated,
  countSecrets,
  deleteSecret,
  findSecret,
  findSecretId,
  listOutdated,
  listSecrets as listRows,
  resealed,
  writeSecret,
} from '../../store/accounts/user-secrets.ts';
import type { Db, Statement } from '../../store/db/db.ts';
import { attempted } from '../audit.ts';
import type { Context } from '../context.ts';

export interface SecretInput {
  name: string;
  value: Uint8Array;
  /** For all users, in place of the actor alone. */
  isOfAll: boolean;
}

type SecretContext = Pick<Context, 'db' | 'nowMs' | 'seal' | 'shares'>;

/**
 * Stores a value of the actor, or of all users, in place of an earlier one of the same name. Resolves to its
 * id. Running services keep the value that they have. Repeating it has no other effect.
 */
export const setSecret = (
  context: SecretContext & { secretRules: SecretRules },
  actor: Actor,
  kind: SecretKind,
  input: () => Promise<SecretInput>,
): Promise<number> =>
  attempted(context, actor, { action: `set-${kind}` }, () => write(context, actor, kind, input));

async function write(
  { db, nowMs, seal, secretRules }: SecretContext & { secretRules: SecretRules },
  actor: Actor,
  kind: SecretKind,
  input: () => Promise<SecretInput>,
): Promise<number> {
  const account = authorise(actor, { kind: 'change-secrets' });
  const { name, value, isOfAll } = await input();
  if (isOfAll) authorise(actor, { kind: 'change-common-secrets' });
  const place = { kind, userId: isOfAll ? null : account.user.id, name };
  const sealed = await seal.close(place, value);
  const setMs = nowMs();
  const deed: Deed = { action: `set-${kind}`, targetName: name };
  const terms = { maxPerUser: secretRules.maxPerUser, setMs, byUserId: account.user.id };
  const audit = insertAuditOfChange(entryOf(account, deed), setMs);
  const isWritten = await writeSecret(db, { ...place, sealed, bytes: value.length }, terms, audit);
  const id = isWritten ? await findSecretId(db, place) : undefined;
  if (id !== undefined) return id;
  throw await whyNotSet(db, place, secretRules);
}

/** Why nothing was written: the bound, or a right that was lost meanwhile. */
export async function whyNotSet(
  db: Db,
  { userId }: Pick<SecretPlace, 'userId'>,
  rules: SecretRules,
): Promise<OperationError> {
  const isFull = (await countSecrets(db, userId)) >= rules.maxPerUser;
  return isFull ? tooManySecrets(rules, userId === null) : rightsLost();
}

/** While the body arrived, for example. */
const rightsLost = () =>
  new OperationError(
    'forbidden',
    'Your user or its role has changed meanwhile: nothing was set. Log in again.',
  );

/** The actor's own and those of all users, without values. */
export async function listSecrets(
  { db }: Pick<Context, 'db'>,
  actor: Actor,
  kind: SecretKind,
): Promise<Secret[]> {
  const { user } = authorise(actor, { kind: 'read-secrets' });
  return listRows(db, kind, user.id);
}

/** Running services keep the value. Those that would start with it fail. */
export const removeSecret = (
  context: SecretContext,
  actor: Actor,
  kind: SecretKind,
  id: number,
): Promise<void> =>
  attempted(context, actor, { action: `remove-${kind}`, targetId: id }, async () => {
    const { db, nowMs } = context;
    const account = authorise(actor, { kind: 'change-secrets' });
    const secret = await findSecret(db, kind, id);
    if (secret === undefined || (secret.userId !== null && secret.userId !== account.user.id))
      throw noSuchSecret();
    if (secret.userId === null) authorise(actor, { kind: 'change-common-secrets' });
    const entry = entryOf(account, { action: `remove-${kind}`, targetId: id, targetName: secret.name });
    if (!(await deleteSecret(db, id, insertAuditOfChange(entry, nowMs())))) throw noSuchSecret();
  });

/** Values that one request encrypts anew: some MiB at most. */
const MAX_RESEALED = 20;

export interface Resealing {
  encrypted: number;
  /** Values of another key of the setting, for further requests. */
  left: number;
  /** Values whose key is not in the setting, or that were changed in the database: nobody can read them. */
  unreadable: number;
}

/** Encrypts some values with the first key of the setting, in one transaction. */
export const resealSecrets = (context: SecretContext, actor: Actor): Promise<Resealing> =>
  attempted(context, actor, { action: 'encrypt-secrets' }, async () => {
    const { db, nowMs, seal } = context;
    const account = authorise(actor, { kind: 'change-common-secrets' });
    const { keyId } = seal;
    const { statements, changed } = await resealSome(context);
    const entry = entryOf(account, { action: 'encrypt-secrets' });
    const audit = insertAudits([{ entry, timeMs: nowMs() }]);
    const affected = statements.length > 0 ? await db.batch([...statements, audit]) : [];
    const encrypted = affected.slice(0, statements.length).reduce((sum, rows) => sum + rows, 0);
    const left = await countOutdated(db, keyId);
    const sum = (isReadable: boolean) =>
      left.reduce((n, one) => n + (seal.canOpen(one.keyId) === isReadable ? one.secrets : 0), 0);
    return { encrypted, left: Math.max(0, sum(true) - changed), unreadable: sum(false) + changed };
  });

/** `changed`: values that were changed in the database, which must not hold up the others. */
async function resealSome({
  db,
  seal,
}: SecretContext): Promise<{ statements: Statement[]; changed: number }> {
  const { keyId } = seal;
  const others = seal.keyIds.filter((one) => one !== keyId);
  const statements: Statement[] = [];
  let changed = 0;
  for (let afterId = 0, isLast = false; !isLast; ) {
    const limit = MAX_RESEALED - statements.length;
    const outdated = await listOutdated(db, { keyId, others, afterId, limit });
    for (const secret of outdated) {
      afterId = secret.id;
      const value = await seal.open(secret, secret.sealed).catch(() => undefined);
      if (value) statements.push(resealed(secret, await seal.close(secret, value)));
      else changed += 1;
    }
    isLast = outdated.length < limit || statements.length === MAX_RESEALED;
  }
  return { statements, changed };
}
