/**
 * Kinds of conditions that an agent reports about its host (PROTOCOL.md P40), and which of them block new
 * services. On the wire a kind is any text: a newer agent may report a kind that an older control plane does
 * not recognise.
 */

/**
 * `blocks`: how explanations describe the host while the condition blocks new services ("is low on disk");
 * null for a condition that does not block them.
 */
export const conditionKinds = {
  'low-disk': { blocks: 'low on disk' },
  'no-engine': { blocks: 'without a responding engine' },
  'no-network': { blocks: 'without the service network' },
  'clock-skew': { blocks: null },
  'unknown-containers': { blocks: null },
  'volume-options': { blocks: null },
  'no-firewall': { blocks: null },
  'unpinned-folders': { blocks: null },
  'no-secret-files': { blocks: null },
  'shared-host': { blocks: null },
  'stuck-containers': { blocks: null },
  'update-failed': { blocks: null },
} as const satisfies Record<string, { blocks: string | null }>;

export type ConditionKind = keyof typeof conditionKinds;
