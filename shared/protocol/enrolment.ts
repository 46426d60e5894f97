/**
 * Enrolment: how an agent registers its host, and proves its identity on each connection (PROTOCOL.md P16 to
 * P20). Paths, bodies and times.
 */
import * as z from 'zod';
import { messageText } from './bounds.ts';
import { deploymentNameSchema, hostNameSchema } from './up.ts';

export const CONNECT_PATH = '/agent/v1/connect';
export const INSTALL_PATH = '/agent/install.sh';
export const REGISTER_PATH = '/agent/v1/register';

/**
 * The proof of a connection is a JWT with this algorithm: `sub` host id, `aud` deployment, `iat`, `exp`,
 * `jti`.
 */
export const PROOF_ALGORITHM = 'EdDSA';
export const PROOF_LIFE_S = 60;
/** Tolerated difference between the two clocks. */
export const CLOCK_TOLERANCE_S = 30;

/** `POST /agent/v1/register`, with the join token as Bearer. */
export const registrationSchema = z.object({
  deployment: deploymentNameSchema,
  /** The name of the new host. */
  name: hostNameSchema,
  /** The public half of the agent's key, as a JWK (RFC 8037). */
  publicKey: z.object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z
      .string()
      .max(43)
      .regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes as base64url'),
  }),
});
export type RegistrationBody = z.infer<typeof registrationSchema>;

export const registeredSchema = z.object({ host_id: z.int().positive() });

/** `reason` is for programs, and only present if the agent must react. */
export const refusalSchema = z.object({
  message: messageText(),
  reason: z.enum(['revoked', 'unknown-host']).optional().catch(undefined),
});
export type Refusal = z.infer<typeof refusalSchema>;
