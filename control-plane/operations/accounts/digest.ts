/**
 * Hashes secrets that are looked up but never read back: session tokens, token ids, names in failed logins.
 */
import { hash } from 'node:crypto';

/** Not for passwords without a secret prefix, because guessable text can be found by trial. */
export const digest = (text: string): string => hash('sha256', text, 'base64url');
