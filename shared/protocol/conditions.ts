/**
 * Kinds of conditions that an agent reports about its host (PROTOCOL.md P40), and which of them block new services. On the
 * wire a kind is any text: a newer agent may report a kind that an older control plane does not know.
 */

/** `blocks`: what a host that takes no new services is, in the words of explanations; null if it still takes them. */
export const conditionKinds = {
  'low-disk': { blocks: 'low on disk' },
  'no-engine': { blocks: 'without an engine that answers' },
  'no-network': { blocks: 'without the network that services are on' },
  'clock-skew': { blocks: null },
  'unknown-containers': { blocks: null },
} as const satisfies Record<string, { blocks: string | null }>;

export type ConditionKind = keyof typeof conditionKinds;
