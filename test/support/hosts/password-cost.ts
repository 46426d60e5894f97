/**
 * Passwords of most tests cost a thirtieth of the usual (TEST-14): otherwise scrypt would take half of the
 * processor time of the API suite.
 */
import { randomBytes, scryptSync } from 'node:crypto';

const SOURCE = 'USUAL_COST = 15;';
const SETTING = 'TEST_PASSWORD_COST';
const LOG2_N = 10;

/** Settings of a host whose passwords have the usual cost: for tests of that cost and of queues of logins. */
export const USUAL_PASSWORD_COST = { [SETTING]: '15' };

/** The cost for a control plane in this process. */
export const passwordCostIn = (env: Record<string, string>): number => Number(env[SETTING] ?? LOG2_N);

/** The bundle of a control plane, with cheap passwords unless it is started with `USUAL_PASSWORD_COST`. */
export function withCheapPasswords(bundle: string): string {
  const parts = bundle.split(SOURCE);
  if (parts.length !== 2)
    throw new Error(
      `the bundle has "${SOURCE}" ${parts.length - 1} times instead of once; test/support/hosts/password-cost.ts replaces what passwords.ts has`,
    );
  return parts.join(`USUAL_COST = Number(process.env.${SETTING} ?? ${LOG2_N});`);
}

/** A hash for the column `password_hash` that is as cheap to verify. */
export function cheapHash(password: string): string {
  const salt = randomBytes(16);
  const key = scryptSync(password.normalize('NFC'), salt, 32, { N: 2 ** LOG2_N, r: 8, p: 1 });
  return ['scrypt', LOG2_N, 8, 1, salt.toString('base64url'), key.toString('base64url')].join('$');
}
