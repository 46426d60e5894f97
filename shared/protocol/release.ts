/**
 * Releases of the agent: what of a bundle is signed, and how. Agents pin the public half of the release key
 * when they are installed (PROTOCOL.md P200); the private half never leaves those who make releases.
 */
import * as z from 'zod';

/** Largest bundle that an agent fetches, in bytes. */
export const MAX_AGENT_BUNDLE_BYTES = 16 * 2 ** 20;

export const AGENT_BUNDLE = 'berth-agent.mjs';
/** Beside the bundle; missing if the bundle is not signed. */
export const AGENT_RELEASE = 'release.json';

export const agentReleaseSchema = z.object({
  /** Like 1.2.3: the version of the agent in the bundle. */
  version: z
    .string()
    .max(64)
    .regex(/^\d{1,9}\.\d{1,9}\.\d{1,9}$/, 'must be a version like 1.2.3'),
  /** SHA-256 of the bundle, as hexadecimal. */
  sha256: z
    .string()
    .max(64)
    .regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 as hexadecimal'),
  /** The Ed25519 signature of `signedText`, as base64url. */
  signature: z
    .string()
    .max(86)
    .regex(/^[A-Za-z0-9_-]{86}$/, 'must be 64 bytes as base64url'),
});
export type AgentRelease = z.infer<typeof agentReleaseSchema>;

/** The public half of a release key: 32 bytes as base64url. */
export const releaseKeySchema = z
  .string()
  .max(43)
  .regex(/^[A-Za-z0-9_-]{43}$/, 'must be the 32 bytes of an Ed25519 key as base64url');

/** What is in `release.json`. */
export const signedReleaseSchema = agentReleaseSchema.extend({ key: releaseKeySchema });
export type SignedRelease = z.infer<typeof signedReleaseSchema>;

/** The version is part of it, so that nobody can offer an old bundle as a new one. */
export const signedText = ({ version, sha256 }: Pick<AgentRelease, 'version' | 'sha256'>): string =>
  `berth-agent ${version} ${sha256}\n`;
