/**
 * Version of the agent protocol: one integer, which every change to the shape of a message must raise.
 *
 * History
 * - 1 (2026-11-21): first version.
 * - 2 (2026-11-21): conditions of the host in `hello` and `report`, usage of its containers in `report`, the
 *   time in `ack`; the highest ids in `hello`, unknown services in `sync`; the lease in `welcome` and
 *   `hello`, `lapsed` in `gone`.
 * - 3 (2026-11-21): the time over which agents spread their reconnections, in `welcome`.
 * - 4 (2026-11-22): bounds of all texts and lists; in `welcome` what of the host's offer is pending; the user
 *   of a container and its owner's `fs_uid` in assignments.
 * - 5 (2026-11-22): which containers share networks, in assignments; proofs of ids, in assignments and in
 *   `hello`; swarms of hosts in `hello` and `report`, their overlay networks in assignments and in
 *   `network.make`; core shares in `ack`.
 * - 6 (2026-11-25): how long the agent collects the output of logs, in `logs.open` and `logs.credit`; the
 *   period of pulses in `welcome`, and the request for a report, `report.request`.
 * - 7 (2026-11-26): the release that the agent must update itself to, `update`; which part of a log is read,
 *   in `logs.open`.
 * - 8 (2026-11-27): the usage of a service, as a format of `logs.open`; health checks in assignments, and the
 *   health of containers in observations; secrets in assignments, which the agent fetches.
 * - 9 (2026-11-28): credentials of registries in assignments, which the agent fetches before a pull; streams
 *   between clients and containers, in both directions: `stream.open` and what follows it; ports that the
 *   host does not publish, in assignments; in them also labels of containers and the place of the workspace.
 */
export const PROTOCOL_VERSION = 9;

/** The first version whose agents send pulses (P179). */
export const PULSE_VERSION = 6;

/** The first version whose agents update themselves (P200). */
export const UPDATE_VERSION = 7;

/** The first version whose agents read a part of a log (P193). */
export const LOG_PART_VERSION = 7;

/** The first version whose agents keep the usage of each service (P228). */
export const USAGE_VERSION = 8;

/** The first version whose agents check the health of containers (P210). */
export const HEALTH_VERSION = 8;

/** The first version whose agents fetch secrets (P220). */
export const SECRET_VERSION = 8;

/** The first version whose agents pull with credentials of users (P232). */
export const CREDENTIALS_VERSION = 9;

/** The first version whose agents leave ports unpublished (P290). */
export const UNPUBLISHED_VERSION = 9;

/** The first version whose agents carry streams (P250). */
export const STREAM_VERSION = 9;

/**
 * The oldest version that agents speak. All that later versions have added to what agents send and expect is
 * optional (P204).
 */
export const OLDEST_SPOKEN_VERSION = 6;

/** The oldest version that the control plane accepts (PROTOCOL.md P2). */
export const OLDEST_PROTOCOL_VERSION = 1;
