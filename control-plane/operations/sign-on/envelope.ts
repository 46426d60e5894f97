/**
 * Envelopes for what Berth gives to a client to bring back soon: encrypted, so that nothing is kept here
 * meanwhile, however many a stranger begins (H539).
 */
import { JOSEError } from 'jose/errors';
import { jwtDecrypt } from 'jose/jwt/decrypt';
import { EncryptJWT } from 'jose/jwt/encrypt';
import type * as z from 'zod';
import { StoredKey } from '../../store/accounts/secrets.ts';
import type { Db } from '../../store/db/db.ts';

const MAX_LENGTH = 8_192;

export class Envelope<Content extends Record<string, unknown>> {
  readonly #deps: EnvelopeDeps;
  readonly #kind: string;
  readonly #schema: z.ZodType<Content>;
  readonly #key: StoredKey;

  /** `kind` keeps envelopes of different purposes apart. */
  constructor(deps: EnvelopeDeps, kind: string, schema: z.ZodType<Content>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#schema = schema;
    this.#key = new StoredKey(deps.db, 'sign-on-key');
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
    try {
      const { payload, protectedHeader } = await jwtDecrypt(sealed, await this.#key.bytes(), {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        audience: this.#deps.deploymentName,
        requiredClaims: ['exp'],
        currentDate: new Date(this.#deps.nowMs()),
      });
      if (protectedHeader.typ !== this.#kind) return undefined;
      return this.#schema.safeParse(payload).data;
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
