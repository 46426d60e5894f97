/**
 * Proofs of ids: 128 bits of an HMAC-SHA-256 of the ids, for Node and workerd alike. A proof of some ids is
 * worthless for others (STORE-12). Those of ports are made of other words than those of services.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IdCode } from '../ports.ts';

const PROOF_BYTES = 16;

export const idCode: IdCode = {
  proofOf: (key, ids) => mac(key, wordsOf(ids)).toString('base64url'),
  isProof(key, { proof, ...ids }) {
    const shown = Buffer.from(proof, 'base64url');
    return shown.length === PROOF_BYTES && timingSafeEqual(shown, mac(key, wordsOf(ids)));
  },
  appProofOf: (key, { service, port }) => mac(key, `application ${service} ${port}`).toString('base64url'),
};

const wordsOf = ({ execution, service }: { execution: number; service: number }): string =>
  `${execution} ${service}`;

const mac = (key: string, words: string): Buffer =>
  createHmac('sha256', key).update(words).digest().subarray(0, PROOF_BYTES);
