/**
 * Agreement on what a host offers: its labels and its size. The first hello after an enrolment sets the
 * agreement. An offer beyond it waits for an administrator, because it would draw other users' work to the
 * host (HOST-14). Pure.
 */
import type { HostFacts } from '../../../shared/protocol/up.ts';
import { OperationError } from '../model/errors.ts';
import { type Host, type HostOffer, setLabels } from '../model/host.ts';

/** An update of the kernel or the engine changes the memory of a machine by less than this factor. */
const MEMORY_TOLERANCE = 1.02;

export const offerOf = ({ labels, memoryBytes, cores }: HostFacts): HostOffer => ({
  labels: [...new Set(labels)],
  memoryBytes,
  cores,
});

/** Applies an offer as far as it is agreed; the whole offer is pending if any part of it is not. */
export function applyOffer(host: Host, offer: HostOffer): void {
  const agreed = host.agreed ?? offer;
  const agreedLabels = new Set(agreed.labels);
  const agentLabels = offer.labels.filter((label) => agreedLabels.has(label));
  host.agreed = agreed;
  setLabels(host, { agentLabels });
  host.memoryBytes = Math.min(offer.memoryBytes, agreed.memoryBytes);
  host.cores = Math.min(offer.cores, agreed.cores);
  const exceeds =
    agentLabels.length < offer.labels.length ||
    offer.memoryBytes > agreed.memoryBytes * MEMORY_TOLERANCE ||
    offer.cores > agreed.cores;
  host.pending = exceeds ? offer : null;
}

/**
 * Agrees to the pending offer. Throws OperationError if another offer is pending than the administrator has
 * seen.
 */
export function acceptOffer(host: Host, accepted: HostOffer): void {
  const { pending } = host;
  if (!pending || !isEqual(pending, accepted)) {
    const now = pending ? `now ${offerText(pending)}` : 'no longer more than was agreed';
    throw new OperationError(
      'conflict',
      `accept: this is not what host ${host.name} offers, which is ${now}. Read the host again and accept its "pending".`,
    );
  }
  host.agreed = pending;
  applyOffer(host, pending);
}

/** For people: "labels gpu ssd, 68719476736 bytes of memory, 8 cores". */
export const offerText = ({ labels, memoryBytes, cores }: HostOffer): string =>
  `labels ${labels.join(' ') || '(none)'}, ${memoryBytes} bytes of memory, ${cores} cores`;

const isEqual = (one: HostOffer, other: HostOffer): boolean =>
  one.memoryBytes === other.memoryBytes &&
  one.cores === other.cores &&
  [...one.labels].sort().join('\n') === [...other.labels].sort().join('\n');
