/**
 * Use cases on credentials of registries, of users and of all: set, list, remove, and the one read, for a
 * pull on the host of a service. No other operation returns a user name or a password (ACC-19).
 */
import type { Application } from '../../../shared/application-schema.ts';
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { imageRegistry, type RegistryCredentials } from '../../../shared/protocol/secrets.ts';
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { entryOf } from '../../core/accounts/audit.ts';
import { fingerprintOf, noSuchCredentials } from '../../core/accounts/registry-credentials.ts';
import type { Secret, SecretRules } from '../../core/accounts/secret.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { CountBytes } from '../../guard/secret-fetches.ts';
import { findCredentials, findSecret, listSecrets } from '../../store/accounts/user-secrets.ts';
import { findAssignedService } from '../../store/executions/assigned-service.ts';
import { attempted } from '../audit.ts';
import type { Context } from '../context.ts';
import { whyNotSet } from './secrets.ts';

export interface CredentialsInput extends Pick<RegistryCredentials, 'registry' | 'username' | 'password'> {
  /** For all users, in place of the actor alone. */
  isOfAll: boolean;
}

type Changing = Pick<Context, 'db' | 'nowMs' | 'seal' | 'coordinator' | 'shares'>;

/**
 * Stores credentials of the actor, or of all users, in place of earlier ones for the same registry. Resolves
 * to their id. Pulls from then on use them.
 */
export const setCredentials = (
  context: Changing & { secretRules: SecretRules },
  actor: Actor,
  input: () => Promise<CredentialsInput>,
): Promise<number> =>
  attempted(context, actor, { action: 'set-registry' }, async () => {
    const account = authorise(actor, { kind: 'change-secrets' });
    const { registry, username, password, isOfAll } = await input();
    if (isOfAll) authorise(actor, { kind: 'change-common-secrets' });
    const { seal, coordinator, secretRules, nowMs } = context;
    const place = { kind: 'registry', userId: isOfAll ? null : account.user.id, name: registry } as const;
    const value = new TextEncoder().encode(JSON.stringify({ username, password }));
    const credentials = { ...place, sealed: await seal.close(place, value), bytes: value.length };
    const terms = { maxPerUser: secretRules.maxPerUser, setMs: nowMs(), byUserId: account.user.id };
    const written = await coordinator.changeAccounts(
      { kind: 'set-credentials', credentials, terms },
      undefined,
      entryOf(account, { action: 'set-registry', targetName: registry }),
    );
    if (!written.done) throw await whyNotSet(context.db, place, secretRules);
    return written.id;
  });

/** The actor's own and those of all users: for which registries, and since when. */
export async function listCredentials({ db }: Pick<Context, 'db'>, actor: Actor): Promise<Secret[]> {
  const { user } = authorise(actor, { kind: 'read-secrets' });
  return listSecrets(db, 'registry', user.id);
}

/** Pulls from then on do without. */
export const removeCredentials = (context: Changing, actor: Actor, id: number): Promise<void> =>
  attempted(context, actor, { action: 'remove-registry', targetId: id }, async () => {
    const account = authorise(actor, { kind: 'change-secrets' });
    const found = await findSecret(context.db, 'registry', id);
    if (found === undefined || (found.userId !== null && found.userId !== account.user.id))
      throw noSuchCredentials();
    const { userId, name: registry } = found;
    if (userId === null) authorise(actor, { kind: 'change-common-secrets' });
    const removed = await context.coordinator.changeAccounts(
      { kind: 'remove-credentials', id, place: { userId, registry } },
      undefined,
      entryOf(account, { action: 'remove-registry', targetId: id, targetName: registry }),
    );
    if (!removed.done) throw noSuchCredentials();
  });

/**
 * What the owner of a service pulls its image with; null for none. Throws `not-found` unless the start is
 * assigned to this host, and `invalid` if the credentials can't be read, with what the user can do.
 */
export async function readCredentials(
  { db, seal }: Pick<Context, 'db' | 'seal'>,
  hostId: number,
  key: ServiceKey,
  count: CountBytes,
): Promise<RegistryCredentials | null> {
  const service = await findAssignedService(db, hostId, key);
  if (!service) throw new OperationError('not-found', 'No such start of a service is assigned to this host.');
  count({ descriptionLength: service.description.length });
  const application: Application = JSON.parse(service.description);
  const definition = application.services.find(({ name }) => name === service.group);
  if (!definition) throw new Error(`service ${key.service} has no definition`);
  const registry = imageRegistry(definition.image);
  const found = await findCredentials(db, service.context.userId, registry);
  if (!found) return null;
  const ofAll = found.userId === null;
  const command = `berth registry set ${ofAll ? '--all ' : ''}${registry}`;
  if (!seal.canOpen(found.sealed.keyId))
    throw new OperationError(
      'invalid',
      `The key of the credentials for ${registry} is no longer in BERTH_SECRET_KEYS: an operator must add that ` +
        `key again, or they must be set again with \`${command}\`.`,
    );
  const value = await seal.open(found, found.sealed).catch(() => {
    throw new OperationError(
      'invalid',
      `The credentials for ${registry} were changed in the database: set them again with \`${command}\`.`,
    );
  });
  count({ valueBytes: value.length });
  const { username, password } = JSON.parse(new TextDecoder().decode(value));
  return { id: fingerprintOf(found), registry, username, password, ofAll };
}
