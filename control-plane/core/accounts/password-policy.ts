/** Rules for new passwords. Passwords that exist stay valid, whatever they are. Pure. */

import { looksLikePersonalToken } from './personal-token.ts';

export const DEFAULT_MIN_PASSWORD_LENGTH = 10;
/** The longest name or password that is examined at all: hashing takes longer the longer the text is. */
export const MAX_CREDENTIAL_LENGTH = 1_024;

/** Returns what a new password must be changed in; undefined if it may be used. */
export function passwordProblem(password: string, username: string, minLength: number): string | undefined {
  const length = [...password.normalize('NFC')].length;
  if (length < minLength) return `must have at least ${minLength} characters, not ${length}`;
  if (password.length > MAX_CREDENTIAL_LENGTH) return `must have at most ${MAX_CREDENTIAL_LENGTH} characters`;
  if (looksLikePersonalToken(password)) return 'must not be a personal access token';
  return folded(password) === folded(username) ? "must not be the user's name" : undefined;
}

const folded = (text: string): string => text.normalize('NFC').toLowerCase();
