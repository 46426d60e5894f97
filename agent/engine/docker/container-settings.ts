/** What an agent's settings say about all of its containers. */

export interface ContainerSettings {
  /** Address on which containers publish their ports. Null: all addresses of the host, IPv6 too. */
  bind: string | null;
  /** Capabilities of containers besides the usual ones. */
  capabilities: readonly string[];
  /** Whether a container may write to the files that the engine makes for its /etc. */
  etcFiles: 'read-only' | 'writable';
}
