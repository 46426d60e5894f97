/**
 * Version of the agent protocol: one integer, which every change to the shape of a message must raise.
 *
 * History
 * - 1 (2026-11-21): first version.
 * - 2 (2026-11-21): conditions of the host in `hello` and `report`, usage of its containers in `report`, the
 *   time in `ack`; the highest ids in `hello`, unknown services in `sync`; the lease in `welcome` and
 *   `hello`, `lapsed` in `gone`.
 * - 3 (2026-11-21): the time over which agents spread their reconnections, in `welcome`.
 */
export const PROTOCOL_VERSION = 3;

/** The oldest version that the control plane accepts (PROTOCOL.md P2). */
export const OLDEST_PROTOCOL_VERSION = 1;
