/**
 * Owns the version of the agent protocol. One integer; a message that changes shape raises it.
 *
 * History
 * - 1 (2026-11-21): first version.
 * - 2 (2026-11-21): conditions of the host in `hello` and `report`, what its containers use in `report`, the time in `ack`;
 *   the highest ids in `hello`, unknown services in `sync`; the lease in `welcome` and `hello`, `lapsed` of what is gone.
 * - 3 (2026-11-21): over how long agents come back, in `welcome`.
 */
export const PROTOCOL_VERSION = 3;

/** The oldest version the control plane still speaks (PROTOCOL.md P2). */
export const OLDEST_PROTOCOL_VERSION = 1;
