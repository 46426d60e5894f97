/** Owns how an agent proves that it belongs here. In this release by a secret that all agents share. */
import { createHash, timingSafeEqual } from 'node:crypto';

export const CONNECT_PATH = '/agent/v1/connect';

/** Whether `authorization`, the header of an upgrade request, carries the join token (PROTOCOL.md P1). */
export function isAgent(authorization: string | null | undefined, joinToken: string): boolean {
  const [scheme, token = ''] = (authorization ?? '').split(' ', 2);
  return scheme === 'Bearer' && timingSafeEqual(digest(token), digest(joinToken));
}

const digest = (text: string) => createHash('sha256').update(text).digest();
