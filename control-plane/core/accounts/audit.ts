/**
 * Audit log: what an entry records of a change, a login or a refusal (ACC-13). An entry never has a secret or
 * a value of a request, except for names. Pure.
 */
import type { StreamOpening } from '../../../shared/streams/client-messages.ts';
import type { ErrorCode } from '../model/errors.ts';
import { type Credential, type ExpectedActor, type KnownActor, LDAP_SOURCE, type Origin } from './account.ts';
import { subnetOf } from './network.ts';

/** What can be recorded, and what it is done to. */
export const auditTargets = {
  'submit-execution': 'execution',
  'terminate-execution': 'execution',
  'limit-execution': 'execution',
  'delete-execution': 'execution',
  'exec-service': 'service',
  'forward-port': 'service',
  'copy-files': 'service',
  'use-app': 'service',
  'create-user': 'user',
  'update-user': 'user',
  'delete-user': 'user',
  'create-role': 'role',
  'update-role': 'role',
  'delete-role': 'role',
  'create-quota': 'quota',
  'update-quota': 'quota',
  'delete-quota': 'quota',
  'create-join-token': 'join-token',
  'register-host': 'host',
  'update-host': 'host',
  'update-agent': 'host',
  'remove-host': 'host',
  'create-personal-token': 'personal-token',
  'revoke-personal-token': 'personal-token',
  'set-secret': 'secret',
  'remove-secret': 'secret',
  'set-file': 'file',
  'remove-file': 'file',
  'set-registry': 'registry',
  'remove-registry': 'registry',
  'encrypt-secrets': 'secret',
  'grant-token': 'token',
  'revoke-token': 'token',
  'log-in': 'user',
  'log-out': 'user',
} as const;

export type AuditAction = keyof typeof auditTargets;
export type AuditTarget = (typeof auditTargets)[AuditAction];
export const auditActions = Object.keys(auditTargets) as AuditAction[];

/**
 * What showed who it was: `password` is one that Berth stores, `ldap` one that the directory has verified,
 * and `none` is for the operator's programs.
 */
export const auditCredentials = [
  'session',
  'password',
  'ldap',
  'token',
  'personal-token',
  'join-token',
  'oidc',
  'none',
] as const;
export type AuditCredential = (typeof auditCredentials)[number];

/** Refusals that are recorded: the account lacks a right, or the object does not allow it. */
export const auditRefusals = ['forbidden', 'unauthenticated', 'not-found', 'conflict'] as const;
export type AuditRefusal = (typeof auditRefusals)[number];

export const isRecorded = (code: ErrorCode): code is AuditRefusal =>
  (auditRefusals as readonly string[]).includes(code);

/** What is done to what. */
export interface Deed {
  action: AuditAction;
  /** Absent: there is none, or the database assigns it with the change. */
  targetId?: number | undefined;
  /** Name of a user, a role, a quota, a host, a personal token, a secret, a file or a registry. */
  targetName?: string | undefined;
  /** Names of the fields that change, never their values. */
  fields?: readonly string[];
}

/**
 * The program of a command and how many words it has, the port, or the path of a copy are recorded. The other
 * words, which may be secrets, are recorded up to `auditedCommandLength` characters. What files hold is never
 * recorded.
 */
export function streamDeed(opening: StreamOpening, auditedCommandLength: number): Deed {
  switch (opening.type) {
    case 'exec': {
      const { words } = opening;
      const command = auditedCommandLength > 0 ? [`command=${commandText(words, auditedCommandLength)}`] : [];
      return { action: 'exec-service', fields: [programOf(words), `words=${words.length}`, ...command] };
    }
    case 'forward':
      return { action: 'forward-port', fields: [`port=${opening.port}`] };
    case 'files-out':
      return { action: 'copy-files', fields: ['out', `path=${plain(opening.path)}`] };
    case 'files-in':
      return {
        action: 'copy-files',
        fields: ['in', `path=${plain(opening.path)}`, `name=${plain(opening.name)}`],
      };
  }
}

/** Commas separate the fields of an entry where people read them. */
const plain = (text: string): string => text.replace(/[\p{C},]/gu, '?').slice(0, 256);

/** JSON in ASCII, since words may hold control characters. Characters beyond `maxLength` are counted only. */
function commandText(words: readonly string[], maxLength: number): string {
  const text = JSON.stringify(words).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const beyond = text.length - maxLength;
  return beyond > 0 ? `${text.slice(0, maxLength)} (and ${beyond} characters)` : text;
}

/** Requests to a web application, from the first one until none has come for a while. */
export const appDeed = (port: number): Deed => ({ action: 'use-app', fields: [`port=${port}`] });

const programOf = ([program = '']: readonly string[]): string =>
  program
    .slice(program.lastIndexOf('/') + 1)
    .replace(/[^\w.+-]/g, '?')
    .slice(0, 64);

/** Who did it, how the request showed that, and where it came from. */
export interface Doer {
  userId: number | null;
  username: string | null;
  credential: AuditCredential;
  /** Id of the personal access token. */
  tokenId: number | null;
  address: string | null;
  requestId: string | null;
}

export type AuditEntry = Doer & Deed;

/** As stored. A row of failed logins has the network in place of the address. */
export interface AuditRow extends Omit<Required<AuditEntry>, 'targetId' | 'targetName'> {
  id: number;
  timeMs: number;
  targetId: number | null;
  targetName: string | null;
  /** The execution of a service that is the target; null if that is gone, or the target is something else. */
  executionId: number | null;
  outcome: 'done' | AuditRefusal;
  /** Refusals of one kind within a minute are one row. */
  count: number;
}

export interface AuditFilter {
  /** Name at the time. */
  username?: string | undefined;
  action?: AuditAction | undefined;
  target?: { kind: AuditTarget; id?: number | undefined } | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** Only rows before this one. */
  beforeId?: number | undefined;
}

/** Networks with failed logins that are told apart in a minute. */
export const MAX_NETWORKS = 1_000;
const MAX_ADDRESS_LENGTH = 64;
const MAX_NAME_LENGTH = 200;
const MINUTE_MS = 60_000;

/** Who did something, with a credential or right after a sign-on. */
export type RecordedActor = Pick<KnownActor | ExpectedActor, 'user' | 'origin'> & {
  credential: Credential | { by: 'oidc' };
};

export function entryOf(actor: RecordedActor, deed: Deed): AuditEntry {
  const { user, credential, origin } = actor;
  const { by } = credential;
  const tokenId = by === 'personal-token' ? credential.id : null;
  const shown = by === 'password' && user.authSource === LDAP_SOURCE ? 'ldap' : by;
  return {
    ...placeOf(origin),
    userId: user.id,
    username: user.username,
    credential: shown,
    tokenId,
    ...deed,
  };
}

/** An entry of somebody without an account. */
export const entryWithoutUser = (
  credential: AuditCredential,
  origin: Origin | undefined,
  deed: Deed,
): AuditEntry => ({ ...placeOf(origin), userId: null, username: null, credential, tokenId: null, ...deed });

const placeOf = (origin: Origin | undefined): Pick<Doer, 'address' | 'requestId'> => ({
  address: origin?.address?.slice(0, MAX_ADDRESS_LENGTH) ?? null,
  requestId: origin?.requestId ?? null,
});

/** Names are as long as their schemas allow; those of hosts come from agents. */
export const shortName = (name: string | undefined): string | null => name?.slice(0, MAX_NAME_LENGTH) ?? null;

export const minuteOf = (timeMs: number): number => Math.floor(timeMs / MINUTE_MS) * MINUTE_MS;

/** The network of a failed login, as it is recorded. The name that was typed is not: it may be a password. */
export function failedLoginNetwork(address: string | undefined): string | null {
  if (address === undefined) return null;
  const network = subnetOf(address).slice(0, MAX_ADDRESS_LENGTH);
  return network.includes(':') ? `${network}::/64` : network;
}

/**
 * Failed logins with the same key are one row; `others` is for those beyond the limit of networks. Each way
 * to log in has rows of its own.
 */
export function failedLoginKeys(network: string | null, nowMs: number, by: AuditCredential = 'password') {
  const minute = minuteOf(nowMs);
  const way = by === 'password' ? '' : ` ${by}`;
  return {
    key: `${minute} network ${network ?? ''}${way}`,
    others: `${minute} networks`,
    /** All keys of networks of the minute are from the first to before the second. */
    range: [`${minute} network `, `${minute} network!`] as const,
  };
}

/** Refusals with the same key are one row: those of an account of the same action and kind in a minute. */
export const refusalKey = (
  { userId, action }: Pick<AuditEntry, 'userId' | 'action'>,
  outcome: AuditRefusal,
  nowMs: number,
): string => `${minuteOf(nowMs)} ${userId} ${action} ${outcome}`;
