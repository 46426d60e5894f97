/** Owns how the agent proves who it is. In this step by a secret it shares with the control plane. */

export interface Identity {
  /** Headers of one connection attempt. */
  headers(): Promise<Record<string, string>>;
}

export function sharedSecret(joinToken: string): Identity {
  return { headers: async () => ({ Authorization: `Bearer ${joinToken}` }) };
}
