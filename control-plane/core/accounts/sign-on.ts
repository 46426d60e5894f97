/**
 * Sign-on by a provider of OpenID Connect: its settings, and what the groups of a user give (ACC-16). Pure.
 */

/** The source of users who sign on; their passwords, if any, are not accepted. */
export const OIDC_SOURCE = 'oidc';

/** The row for users of any group, or of none. */
export const ANY_GROUP = '*';

/** Members of the group have the role and the quota of these names. */
export interface GroupRow {
  group: string;
  role: string;
  quota: string;
}

export interface SignOnSettings {
  /** As the provider states it, to the letter. */
  issuer: string;
  clientId: string;
  /** Undefined for a public client. */
  clientSecret: string | undefined;
  /** The provider's name for people. */
  name: string;
  scope: string;
  createsUsers: boolean;
  /** The claim that names users who are created. */
  usernameClaim: string;
  groupsClaim: string;
  /** The first row with a group of the user counts. Undefined: role and quota are administered here. */
  groups: readonly GroupRow[] | undefined;
  /** Whether the provider gets its ID token back at a logout (H647). */
  logoutHint: boolean;
  sessionMs: number;
  /** How long after the last sign-on the user's personal access tokens work. */
  tokensMs: number;
}

/** Who a user is at a provider. No two users have the same. */
export interface Identity {
  issuer: string;
  subject: string;
}

/** The longest that OpenID Connect allows. */
export const MAX_SUBJECT_LENGTH = 255;

/**
 * Whether a subject stays itself in every database and on every page: neither cut off at a NUL nor changed by
 * an encoding. Subjects are compared to the letter.
 */
export const isSubject = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= MAX_SUBJECT_LENGTH && /^[^\p{C}\p{Zl}\p{Zp}]+$/u.test(text);

/** What a user without a table of groups gets at the first sign-on. */
export const DEFAULT_ROW: GroupRow = { group: ANY_GROUP, role: 'user', quota: 'default' };

const MAX_GROUPS = 10_000;

/** The groups in a claim, which is a list or a single group. Anything else counts as none. */
export function groupsIn(claim: unknown): string[] {
  if (typeof claim === 'string') return [claim];
  if (!Array.isArray(claim)) return [];
  return claim.slice(0, MAX_GROUPS).filter((one): one is string => typeof one === 'string');
}

/** The first row that applies; undefined if none does. */
export function rowFor(rows: readonly GroupRow[], groups: readonly string[]): GroupRow | undefined {
  const own = new Set(groups);
  return rows.find(({ group }) => group === ANY_GROUP || own.has(group));
}

/**
 * A user's name as directories compare it: capitals, widths of letters and repeated spaces make no
 * difference.
 */
export const folded = (username: string): string =>
  username.normalize('NFKC').toLowerCase().replace(/ +/g, ' ');

export const isAlike = (one: string, other: string): boolean => folded(one) === folded(other);

/** A distinguished name in one form: capitals and spaces beside its separators make no difference. */
export const plainName = (dn: string): string =>
  dn
    .trim()
    .toLowerCase()
    .replace(/ *([,=+]) */g, '$1');
