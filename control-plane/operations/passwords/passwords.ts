/** Hashes passwords with scrypt, as `scrypt$<log2 N>$<r>$<p>$<salt>$<key>` with salt and key in base64url. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** log2 of N. */
const USUAL_COST = 15;
const R = 8;
const P = 1;
const KEY_BYTES = 32;

/** New passwords cost as much as `cost` says, and known ones as much as their hash says. */
export class Passwords {
  readonly #cost: number;
  /** Belongs to no account. */
  readonly #noAccount: string;

  constructor(cost = USUAL_COST) {
    this.#cost = cost;
    this.#noAccount = `scrypt$${cost}$${R}$${P}$AAAAAAAAAAAAAAAAAAAAAA$${Buffer.alloc(KEY_BYTES).toString('base64url')}`;
  }

  async hash(password: string): Promise<string> {
    const salt = randomBytes(16);
    const key = await derive(password, salt, { logN: this.#cost, r: R, p: P, bytes: KEY_BYTES });
    return ['scrypt', this.#cost, R, P, salt.toString('base64url'), key.toString('base64url')].join('$');
  }

  /** Takes equally long without a hash (unknown user, or no password set), and then returns false. */
  async verify(password: string, hash: string | null): Promise<boolean> {
    const [, logN, r, p, salt, key] = (hash ?? this.#noAccount).split('$');
    const expected = Buffer.from(key ?? '', 'base64url');
    const cost = { logN: Number(logN), r: Number(r), p: Number(p), bytes: expected.length };
    const actual = await derive(password, Buffer.from(salt ?? '', 'base64url'), cost);
    return timingSafeEqual(actual, expected) && hash !== null;
  }
}

/** 96 random bits, or more for a longer minimum. Each character of base64url has six. */
export const randomPassword = (minLength: number): string =>
  randomBytes(Math.max(12, Math.ceil((minLength * 6) / 8))).toString('base64url');

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
