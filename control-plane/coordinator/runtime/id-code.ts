/**
 * Proofs of ids: 128 bits of an HMAC-SHA-256 of the ids, for Node and workerd alike. A proof of some ids is
 * worthless for others (STORE-12).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IdCode } from '../ports.ts';

const PROOF_BYTES = 16;

export const idCode: IdCode = {
  proofOf: (key, ids) => mac(key, ids).toString('base64url'),
  isProof(key, { proof, ...ids }) {
    const shown = Buffer.from(proof, 'base64url');
    return shown.length === PROOF_BYTES && timingSafeEqual(shown, mac(key, ids));
  },
};

const mac = (key: string, { execution, service }: { execution: number; service: number }): Buffer =>
  createHmac('sha256', key).update(`${execution} ${service}`).digest().subarray(0, PROOF_BYTES);
