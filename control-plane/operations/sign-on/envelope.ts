/**
 * Envelopes for what Berth gives to a client to bring back soon: encrypted, so that nothing is kept here
 * meanwhile, however many a stranger begins (H539).
 */
import { JOSEError } from 'jose/errors';
import { jwtDecrypt } from 'jose/jwt/decrypt';
import { EncryptJWT } from 'jose/jwt/encrypt';
import type * as z from 'zod';
import { RecentMap } from '../../core/model/recent-map.ts';
import { StoredKey } from '../../store/accounts/secrets.ts';
import type { Db } from '../../store/db/db.ts';

const MAX_LENGTH = 8_192;

interface Opened<Content> {
  content: Content;
  /** Seconds since the epoch. */
  expiresS: number;
}

export class Envelope<Content extends Record<string, unknown>> {
  readonly #deps: EnvelopeDeps;
  readonly #kind: string;
  readonly #schema: z.ZodType<Content>;
  readonly #key: StoredKey;
  /** Only what was opened before: nobody can fill it but with envelopes of Berth. */
  readonly #opened: RecentMap<string, Opened<Content>>;

  /**
   * `kind` keeps envelopes of different purposes apart. `remembered`: as many are decrypted once only, for a
   * client that sends the same one with each request. What an envelope holds never changes, and its end is
   * compared each time.
   */
  constructor(deps: EnvelopeDeps, kind: string, schema: z.ZodType<Content>, remembered = 0) {
    this.#deps = deps;
    this.#kind = kind;
    this.#schema = schema;
    this.#key = new StoredKey(deps.db, 'sign-on-key');
    this.#opened = new RecentMap(remembered);
  }

  async close(content: Content, validMs: number): Promise<string> {
    return new EncryptJWT(content)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: this.#kind })
      .setAudience(this.#deps.deploymentName)
      .setExpirationTime(Math.ceil((this.#deps.nowMs() + validMs) / 1_000))
      .encrypt(await this.#key.bytes());
  }

  /** Undefined if it was not sealed here for this purpose, or has expired. */
  async open(sealed: string): Promise<Content | undefined> {
    if (sealed.length > MAX_LENGTH) return undefined;
    const opened = this.#opened.get(sealed) ?? (await this.#decrypt(sealed));
    if (!opened || opened.expiresS <= Math.floor(this.#deps.nowMs() / 1_000)) return undefined;
    this.#opened.set(sealed, opened);
    return opened.content;
  }

  async #decrypt(sealed: string): Promise<Opened<Content> | undefined> {
    try {
      const { payload, protectedHeader } = await jwtDecrypt(sealed, await this.#key.bytes(), {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        audience: this.#deps.deploymentName,
        requiredClaims: ['exp'],
        currentDate: new Date(this.#deps.nowMs()),
      });
      const content = this.#schema.safeParse(payload).data;
      if (protectedHeader.typ !== this.#kind || !content) return undefined;
      return { content, expiresS: payload.exp ?? 0 };
    } catch (error) {
      if (error instanceof JOSEError) return undefined;
      throw error;
    }
  }
}

export interface EnvelopeDeps {
  db: Db;
  nowMs: () => number;
  deploymentName: string;
}
