/** WebSocket close codes of the agent protocol, and what an agent does after each. */

/**
 * `now`: reconnect at once; `backoff`: after a growing delay with jitter; `never`: stop until an
 * administrator acts.
 */
export type Retry = 'now' | 'backoff' | 'never';

export const closeCodes = {
  /** The two sides may differ in state; a new hello resolves that. */
  resync: { code: 4000, retry: 'now' },
  /** A message that does not parse, or is not allowed at this point. */
  badMessage: { code: 4400, retry: 'backoff' },
  /** The agent belongs to another deployment. */
  wrongDeployment: { code: 4404, retry: 'never' },
  /** The host was removed, and its key is no longer valid. */
  revoked: { code: 4403, retry: 'never' },
  /** The host's services run on another engine. */
  otherEngine: { code: 4412, retry: 'never' },
  /** A newer connection of the same host has taken over. */
  superseded: { code: 4409, retry: 'never' },
  /** No common protocol version. */
  version: { code: 4426, retry: 'backoff' },
  /** The control plane is stopping or has lost its database. */
  unavailable: { code: 4503, retry: 'backoff' },
} as const satisfies Record<string, { code: number; retry: Retry }>;

export type CloseReason = keyof typeof closeCodes;

/** What to do after a close with `code`. Unknown codes (network loss, restarts) mean `backoff`. */
export function retryAfter(code: number): Retry {
  return Object.values(closeCodes).find((entry) => entry.code === code)?.retry ?? 'backoff';
}
