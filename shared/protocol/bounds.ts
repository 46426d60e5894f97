/**
 * Bounds of the protocol: the longest texts and lists of its messages (PROTOCOL.md P136, P137). A message
 * beyond a bound does not parse, except for texts that only people read, which are cut.
 */
import * as z from 'zod';

/** Names, addresses, versions and ids of containers, in UTF-16 units. */
export const MAX_NAME_LENGTH = 128;
/** DNS names have at most 253 characters. */
export const MAX_ADDRESS_LENGTH = 255;
export const MAX_LABEL_LENGTH = 256;
export const MAX_LABELS = 256;
/** The text on the progress of a start: the control plane's event ring holds thousands of these. */
export const MAX_DETAIL_LENGTH = 500;
/** Other texts for people: failures and refusals. */
export const MAX_MESSAGE_LENGTH = 2_000;

/** Containers in one `hello`, or changed containers in one `report`. */
export const MAX_OBSERVATIONS = 50_000;
/** Services in one `forget` or in the answer to it. */
export const MAX_FORGOTTEN = 100_000;
/** Ranges of unknown services. Each takes at least one id that was given, or one that C211 counts. */
export const MAX_ID_RANGES = 200_000;
export const MAX_PUBLISHED_PORTS = 1_000;
export const MAX_VOLUMES = 1_000;

/** Core shares of one host, and executions of one share. */
export const MAX_SHARES = 10_000;
/** Assignments in one `sync`. */
export const MAX_ASSIGNMENTS = 1_000;
/** Texts of an assignment that the description has as they are; a description has at most 1 MiB. */
export const MAX_PLAIN_LENGTH = 2 ** 20;
/** Texts with variables: no value is more than eight times as long as its reference. */
export const MAX_EXPANDED_LENGTH = 2 ** 23;
/** Words of a command of 1 MiB. */
export const MAX_WORDS = 2 ** 20;
/** Variables of a description, and those that Berth adds. */
export const MAX_ENVIRONMENT = 2_000;

/** Cores and bytes of memory of a host: beyond any machine, and sums over hosts stay precise. */
export const MAX_CORES = 1_000_000;
export const MAX_MEMORY_BYTES = 2 ** 50;
/** The latest time of a Date, in ms. */
export const MAX_TIME_MS = 8.64e15;
/** The longest that a host may be silent before it counts as lost, in ms. */
export const MAX_LEASE_MS = 86_400_000;

/** The longest that an agent may be required to collect the output of logs, in ms. */
export const MAX_COLLECT_MS = 1_000;
/** Stands for the part of a text that was cut off. */
const CUT = ' ... (cut)';

/** A text for people, which is cut instead of refused. */
export const messageText = (maxLength = MAX_MESSAGE_LENGTH) =>
  z
    .string()
    .overwrite((text) => cutText(text, maxLength))
    .max(maxLength);

/** The beginning of a longer text, with a mark. A copy: a slice would keep the whole text in memory. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const start = text.slice(0, maxLength - CUT.length).replace(/[\ud800-\udbff]$/, '');
  return JSON.parse(JSON.stringify(start + CUT)) as string;
}
