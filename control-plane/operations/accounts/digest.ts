/** Owns how what must be found again but not read is kept: session tokens, ids of tokens, names in failed logins. */
import { createHash } from 'node:crypto';

/** Not for passwords without a secret before them: what can be guessed is found by trying. */
export const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
