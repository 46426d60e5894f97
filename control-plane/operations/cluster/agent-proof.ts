/**
 * Verifies the proof that an agent sends with each connection: a JWT that is valid for a minute, signed with
 * the key of its host (PROTOCOL.md P18, HOST-1 to HOST-3). The coordinator ensures that each proof is used
 * once (P19).
 */
import { JOSEError, JWTClaimValidationFailed, JWTExpired } from 'jose/errors';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { importJWK } from 'jose/key/import';
import { CLOCK_TOLERANCE_S, PROOF_ALGORITHM, PROOF_LIFE_S } from '../../../shared/protocol/enrolment.ts';
import { revoked, type VerifiedProof } from '../../core/hosts/registration.ts';
import { OperationError } from '../../core/model/errors.ts';
import { RecentMap } from '../../core/model/recent-map.ts';
import { findHostKey } from '../../store/accounts/join-tokens.ts';
import type { Db } from '../../store/db/db.ts';

export interface ProofDeps {
  db: Db;
  deploymentName: string;
  nowMs: () => number;
  /** What the proof is for. Default: a connection to the deployment. */
  audience?: string;
  /** Keys of hosts, where the coordinator confirms those that are taken from it. */
  keys?: HostKeys;
}

const MAX_REMEMBERED = 10_000;

/** Keys of hosts that have proved themselves lately. */
export class HostKeys {
  /** By host id, the oldest first. */
  readonly #keys = new RecentMap<number, string>(MAX_REMEMBERED);

  of(hostId: number): string | undefined {
    return this.#keys.get(hostId);
  }

  remember(hostId: number, key: string): void {
    this.#keys.set(hostId, key);
  }

  forget(hostId: number): void {
    this.#keys.delete(hostId);
  }
}

/** Longer than any random id needs. */
const MAX_PROOF_ID_LENGTH = 64;

/**
 * Resolves to the host of the proof. Throws `bad-token` with the reason if the proof is not valid,
 * `unknown-host` if no host has the key, and `revoked` for the key of a removed host.
 */
export async function readProof(deps: ProofDeps, proof: string | undefined): Promise<VerifiedProof> {
  const hostId = proof === undefined ? undefined : hostIdOf(proof);
  if (proof === undefined || hostId === undefined)
    throw badProof('Send a proof: Authorization: Bearer <JWT signed with the key of the host>.');
  const rememberedKey = deps.keys?.of(hostId);
  if (rememberedKey !== undefined) {
    const claims = await verified(deps, proof, rememberedKey).catch(() => undefined);
    if (claims) return { hostId, ...claims, rememberedKey };
  }
  const found = await findHostKey(deps.db, hostId);
  if (!found) throw unknownHost();
  const verifiedProof = { hostId, ...(await verified(deps, proof, found.publicKey)) };
  if (found.removed) throw revoked();
  deps.keys?.remember(hostId, found.publicKey);
  return verifiedProof;
}

function hostIdOf(proof: string): number | undefined {
  try {
    const { sub = '' } = decodeJwt(proof);
    return /^[1-9]\d{0,14}$/.test(sub) ? Number(sub) : undefined;
  } catch (error) {
    if (error instanceof JOSEError) return undefined;
    throw error;
  }
}

async function verified(
  { deploymentName, nowMs, audience = deploymentName }: ProofDeps,
  proof: string,
  publicKey: string,
): Promise<Omit<VerifiedProof, 'hostId'>> {
  const key = await importJWK({ kty: 'OKP', crv: 'Ed25519', x: publicKey }, PROOF_ALGORITHM);
  try {
    const { payload } = await jwtVerify(proof, key, {
      algorithms: [PROOF_ALGORITHM],
      audience,
      requiredClaims: ['jti', 'iat', 'exp'],
      // Limits the age as well as `exp`: a proof is valid for a minute whatever its own claims.
      maxTokenAge: PROOF_LIFE_S,
      clockTolerance: CLOCK_TOLERANCE_S,
      currentDate: new Date(nowMs()),
    });
    const { jti, iat = 0 } = payload;
    if (typeof jti !== 'string' || jti === '' || jti.length > MAX_PROOF_ID_LENGTH)
      throw badProof(`The proof's jti must be text of 1 to ${MAX_PROOF_ID_LENGTH} characters.`);
    return { proofId: jti, expiresMs: (iat + PROOF_LIFE_S + CLOCK_TOLERANCE_S + 1) * 1_000 };
  } catch (error) {
    if (error instanceof JOSEError) throw refusal(error, deploymentName, nowMs());
    throw error;
  }
}

function refusal(error: JOSEError, deploymentName: string, nowMs: number): OperationError {
  // A wrong key gets the same answer as an unknown host, so that an id alone reveals nothing about a host.
  if (error.code === 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED') return unknownHost();
  if (error instanceof JWTExpired || error instanceof JWTClaimValidationFailed) {
    const { claim, payload } = error;
    if (claim === 'aud')
      return badProof(
        `This is deployment ${deploymentName}; the proof is for another deployment. Set BERTH_DEPLOYMENT_NAME.`,
      );
    const isTime = (claim === 'iat' || claim === 'exp') && error.reason !== 'missing';
    if (isTime && typeof payload.iat === 'number') {
      const skewS = Math.round(payload.iat - nowMs / 1_000);
      const when = skewS > 0 ? `in ${skewS} s from now` : `${-skewS} s ago`;
      return badProof(
        `The proof was made ${when} by this clock, but is valid for ${PROOF_LIFE_S} s: set the clock of the agent's machine.`,
      );
    }
  }
  return badProof(`The proof is not valid: ${error.message}.`);
}

const badProof = (message: string) => new OperationError('bad-token', message);

const unknownHost = () =>
  new OperationError(
    'unknown-host',
    'No host here has this key. Get a join token (POST host/token) and start the agent with it in BERTH_JOIN_TOKEN.',
  );
