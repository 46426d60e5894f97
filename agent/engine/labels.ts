/** Labels of Berth's containers and networks. Released names never change. */

export const label = {
  deployment: 'berth.deployment',
  host: 'berth.host',
  execution: 'berth.execution',
  service: 'berth.service',
  generation: 'berth.generation',
  /** Proof of the ids of execution and service (P143). */
  idProof: 'berth.id-proof',
  owner: 'berth.owner',
  /** A sentence for the top of the container's log; empty for none. */
  remark: 'berth.remark',
  /** The check of the container's health, as JSON; empty for none. */
  health: 'berth.health',
  /** Name of the overlay network that a container of a swarm joins besides its first network. */
  overlay: 'berth.overlay',
  /** The reservation; for a null reservation, the default. */
  coresMin: 'berth.cores.min',
  /** Absent for a null maximum. */
  coresMax: 'berth.cores.max',
  /** Name of the host, on the volumes by which an agent pins folders, and on the container of its proof. */
  folders: 'berth.folders',
} as const;
