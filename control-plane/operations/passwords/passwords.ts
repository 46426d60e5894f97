/** Hashes passwords with scrypt, as `scrypt$<log2 N>$<r>$<p>$<salt>$<key>` with salt and key in base64url. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

const LOG2_N = 15;
const R = 8;
const P = 1;
const KEY_BYTES = 32;

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, { logN: LOG2_N, r: R, p: P, bytes: KEY_BYTES });
  return ['scrypt', LOG2_N, R, P, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/** 96 random bits, or more for a longer minimum. Each character of base64url has six. */
export const randomPassword = (minLength: number): string =>
  randomBytes(Math.max(12, Math.ceil((minLength * 6) / 8))).toString('base64url');

/** Takes equally long without a hash (unknown user, or no password set), and then returns false. */
export async function verifyPassword(password: string, hash: string | null): Promise<boolean> {
  const [, logN, r, p, salt, key] = (hash ?? NO_ACCOUNT).split('$');
  const expected = Buffer.from(key ?? '', 'base64url');
  const cost = { logN: Number(logN), r: Number(r), p: Number(p), bytes: expected.length };
  const actual = await derive(password, Buffer.from(salt ?? '', 'base64url'), cost);
  return timingSafeEqual(actual, expected) && hash !== null;
}

/** A hash of the usual cost that belongs to no account. */
const NO_ACCOUNT = `scrypt$${LOG2_N}$${R}$${P}$AAAAAAAAAAAAAAAAAAAAAA$${Buffer.alloc(KEY_BYTES).toString('base64url')}`;

function derive(
  password: string,
  salt: Buffer,
  { logN, r, p, bytes }: { logN: number; r: number; p: number; bytes: number },
): Promise<Buffer> {
  // scrypt needs 128 * N * r bytes; Node's default limit is just below that.
  const options = { N: 2 ** logN, r, p, maxmem: 256 * 2 ** logN * r };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, bytes, options, (error, key) =>
      error ? reject(error) : resolve(key),
    );
  });
}
