/** Owns the WebSocket close codes of the agent protocol and what an agent does after each. */

/** `now`: connect again at once; `backoff`: with growing jittered delay; `never`: stop, an administrator must act. */
export type Retry = 'now' | 'backoff' | 'never';

export const closeCodes = {
  /** State of the two sides may differ; a new hello settles it. */
  resync: { code: 4000, retry: 'now' },
  /** A message that does not parse or is not allowed at this point. */
  badMessage: { code: 4400, retry: 'backoff' },
  /** The agent belongs to another deployment. */
  wrongDeployment: { code: 4404, retry: 'never' },
  /** The host was removed: its key is worth nothing any more. */
  revoked: { code: 4403, retry: 'never' },
  /** A newer connection of the same host took over. */
  superseded: { code: 4409, retry: 'never' },
  /** No common protocol version. */
  version: { code: 4426, retry: 'backoff' },
  /** The control plane is stopping or has lost its database. */
  unavailable: { code: 4503, retry: 'backoff' },
} as const satisfies Record<string, { code: number; retry: Retry }>;

export type CloseReason = keyof typeof closeCodes;

/** What to do after a close with `code`; unknown codes (network loss, restarts) mean `backoff`. */
export function retryAfter(code: number): Retry {
  return Object.values(closeCodes).find((entry) => entry.code === code)?.retry ?? 'backoff';
}
