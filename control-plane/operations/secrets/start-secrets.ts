/**
 * Secrets of services: what a description refers to, whether it is there, and the values for a start, which
 * only the host of the service gets (P220 to P222).
 */
import { MAX_ARGUMENT_BYTES } from '../../../shared/application-checks.ts';
import type { Application, ServiceDescription } from '../../../shared/application-schema.ts';
import { environmentOf } from '../../../shared/expand.ts';
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import { MAX_START_SECRET_BYTES, type StartSecrets } from '../../../shared/protocol/secrets.ts';
import { secretsIn } from '../../../shared/variables.ts';
import { type SecretName, secretProblem } from '../../core/accounts/secret.ts';
import { type Port, proxyPath } from '../../core/apps/app-address.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { CountBytes } from '../../guard/secret-fetches.ts';
import { findSealedSecrets, findSecretKeys } from '../../store/accounts/user-secrets.ts';
import { findAssignedService } from '../../store/executions/assigned-service.ts';
import { appAddresses } from '../app-addresses.ts';
import type { Context } from '../context.ts';

/** Different secrets and files of one description. */
const MAX_NAMES = 1_000;

/** What the services of an application refer to, each once. */
export function secretNames({ services }: Pick<Application, 'services'>): SecretName[] {
  const texts = services.flatMap(({ environment }) => environment.map(([, value]) => value));
  const files = new Set(services.flatMap(({ files = [] }) => files.map(({ name }) => name)));
  return [
    ...secretsIn(texts).map((name) => ({ kind: 'secret' as const, name })),
    ...Array.from(files, (name) => ({ kind: 'file' as const, name })),
  ];
}

/** What is wrong with the secrets of a user's application; undefined if nothing is. */
export async function findSecretProblem(
  { db, seal }: Pick<Context, 'db' | 'seal'>,
  userId: number,
  application: Pick<Application, 'services'>,
): Promise<string | undefined> {
  const names = secretNames(application);
  if (names.length === 0) return undefined;
  if (names.length > MAX_NAMES)
    return `The description refers to ${names.length} secrets and files; the limit is ${MAX_NAMES}.`;
  const found = await findSecretKeys(db, userId, names);
  return problemOf(names, found, ({ keyId }) => seal.canOpen(keyId));
}

function problemOf<Found extends SecretName>(
  names: readonly SecretName[],
  found: readonly Found[],
  isReadable: (secret: Found) => boolean,
): string | undefined {
  const byName = new Map(found.map((secret) => [textOf(secret), secret]));
  const missing = names.filter((name) => !byName.has(textOf(name)));
  const unreadable = [...byName.values()].filter((secret) => !isReadable(secret));
  return secretProblem(missing, unreadable);
}

/** A value may begin with what looks like the mark of an encoding. */
const utf8 = new TextDecoder('utf-8', { fatal: false, ignoreBOM: true });

const textOf = ({ kind, name }: SecretName): string => `${kind} ${name}`;

/**
 * The values for one start of a service. Throws `not-found` unless it is assigned to this host, and `invalid`
 * if a value is missing or too long, with what the user can do.
 */
export async function readStartSecrets(
  {
    db,
    seal,
    deploymentName,
    appPlaces,
    containerExtras: extras,
  }: Pick<Context, 'db' | 'seal' | 'deploymentName' | 'appPlaces' | 'containerExtras'>,
  hostId: number,
  key: ServiceKey,
  count: CountBytes,
): Promise<StartSecrets> {
  const service = await findAssignedService(db, hostId, key);
  if (!service) throw new OperationError('not-found', 'No such start of a service is assigned to this host.');
  const { context, group, instance } = service;
  count({ descriptionLength: service.description.length });
  const application: Application = JSON.parse(service.description);
  const definition = application.services.find(({ name }) => name === group);
  if (!definition) throw new Error(`service ${key.service} has no definition`);
  const values = await openAll({ db, seal }, context.userId, definition);
  const valueFor = boundedValues(values, count);
  const files = (definition.files ?? []).map(({ name, path }) => ({
    path,
    content: Buffer.from(valueFor({ kind: 'file', name })).toString('base64'),
  }));
  const addresses = await appAddresses({ db, appPlaces });
  const proxyPathOf = (port: Port) => proxyPath(addresses, key.service, port);
  const environment = environmentOf(
    instance,
    definition,
    { ...context, deploymentName, extras, proxyPathOf },
    (name) => utf8.decode(valueFor({ kind: 'secret', name })),
  );
  const tooLong = environment.find(
    ([name, value]) => Buffer.byteLength(name + value) + 1 > MAX_ARGUMENT_BYTES,
  );
  if (tooLong)
    throw new OperationError(
      'invalid',
      `The variable ${tooLong[0]} has, with its secrets, more than ${MAX_ARGUMENT_BYTES} bytes, the limit of Linux.`,
    );
  return { environment, files };
}

/** The values that a service refers to, by kind and name. */
async function openAll(
  { db, seal }: Pick<Context, 'db' | 'seal'>,
  userId: number,
  definition: ServiceDescription,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const names = secretNames({ services: [definition] });
  const found = await findSealedSecrets(db, userId, names, MAX_START_SECRET_BYTES);
  if (found.reduce((sum, { bytes }) => sum + bytes, 0) > MAX_START_SECRET_BYTES) throw tooLongInAll();
  const problem = problemOf(names, found, ({ sealed }) => seal.canOpen(sealed.keyId));
  if (problem !== undefined) throw new OperationError('invalid', problem);
  const byName = new Map(found.map((secret) => [textOf(secret), secret]));
  const values = new Map<string, Uint8Array>();
  for (const secret of byName.values()) {
    const bytes = await seal.open(secret, secret.sealed).catch(() => {
      throw new OperationError(
        'invalid',
        `The value of ${textOf(secret)} was changed in the database: set it again with \`berth ${secret.kind} set ${secret.name}\`.`,
      );
    });
    values.set(textOf(secret), bytes);
  }
  return values;
}

/** A description may refer to a long value many times. */
function boundedValues(
  values: ReadonlyMap<string, Uint8Array>,
  count: CountBytes,
): (name: SecretName) => Uint8Array {
  let length = 0;
  return (name) => {
    const value = values.get(textOf(name)) ?? Uint8Array.of();
    length += value.length;
    count({ valueBytes: value.length });
    if (length > MAX_START_SECRET_BYTES) throw tooLongInAll();
    return value;
  };
}

const tooLongInAll = () =>
  new OperationError(
    'invalid',
    `The values of the service's secrets have more than ${MAX_START_SECRET_BYTES / 2 ** 20} MiB in all: use fewer ` +
      'or shorter ones, each as rarely as possible.',
  );
