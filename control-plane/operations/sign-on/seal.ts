/**
 * Seals what Berth gives to a client to bring back soon: encrypted, so that nothing is kept here meanwhile,
 * however many a stranger begins (H539).
 */
import { randomBytes } from 'node:crypto';
import { JOSEError } from 'jose/errors';
import { jwtDecrypt } from 'jose/jwt/decrypt';
import { EncryptJWT } from 'jose/jwt/encrypt';
import type * as z from 'zod';
import { findOrCreateSecret } from '../../store/accounts/secrets.ts';
import type { Db } from '../../store/db/db.ts';

const MAX_LENGTH = 8_192;

export class Seal<Content extends Record<string, unknown>> {
  readonly #deps: SealDeps;
  readonly #kind: string;
  readonly #schema: z.ZodType<Content>;
  #key: Uint8Array | undefined;

  /** `kind` keeps seals of different purposes apart. */
  constructor(deps: SealDeps, kind: string, schema: z.ZodType<Content>) {
    this.#deps = deps;
    this.#kind = kind;
    this.#schema = schema;
  }

  async close(content: Content, validMs: number): Promise<string> {
    return new EncryptJWT(content)
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', typ: this.#kind })
      .setAudience(this.#deps.deploymentName)
      .setExpirationTime(Math.ceil((this.#deps.nowMs() + validMs) / 1_000))
      .encrypt(await this.#readKey());
  }

  /** Undefined if it was not sealed here for this purpose, or has expired. */
  async open(sealed: string): Promise<Content | undefined> {
    if (sealed.length > MAX_LENGTH) return undefined;
    try {
      const { payload, protectedHeader } = await jwtDecrypt(sealed, await this.#readKey(), {
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

  async #readKey(): Promise<Uint8Array> {
    if (this.#key) return this.#key;
    const text = await findOrCreateSecret(this.#deps.db, 'sign-on-key', () =>
      randomBytes(32).toString('base64url'),
    );
    const key = Buffer.from(text, 'base64url');
    this.#key = key;
    return key;
  }
}

export interface SealDeps {
  db: Db;
  nowMs: () => number;
  deploymentName: string;
}
