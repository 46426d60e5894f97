/** The highest ids that a host has seen, and their proofs, for `hello` (P31, P144). Pure. */
import type { Up } from '../../shared/protocol/up.ts';
import type { Container } from '../engine/engine.ts';
import { highestProofs, type StoredIds } from '../logs/stored-ids.ts';

type Hello = Extract<Up, { type: 'hello' }>;
export type SeenIds = Required<Pick<Hello, 'highest' | 'idProofs'>>;

/** 0: the host has seen no id. */
export function seenIds(
  containers: readonly Pick<Container, 'service' | 'execution' | 'idProof'>[],
  stored: Pick<StoredIds, 'highestService' | 'proven'>,
): SeenIds {
  const proven = [
    ...stored.proven,
    ...containers.flatMap(({ service, execution, idProof: proof }) =>
      execution === undefined || proof === undefined ? [] : [{ service, execution, proof }],
    ),
  ];
  const highest = (ids: readonly (number | undefined)[]) =>
    ids.reduce<number>((max, id) => Math.max(max, id ?? 0), 0);
  return {
    highest: {
      execution: highest([...containers, ...proven].map(({ execution }) => execution)),
      service: highest([stored.highestService, ...containers.map(({ service }) => service)]),
    },
    idProofs: highestProofs(proven),
  };
}
