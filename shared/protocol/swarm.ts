/** The swarm that a host's engine is in, as its agent reports it, and the overlay networks made there. */
import * as z from 'zod';
import { MAX_NAME_LENGTH } from './bounds.ts';

const nodeId = z.string().max(MAX_NAME_LENGTH);

export const swarmSchema = z.object({
  /** Id of the engine within the swarm. */
  node: nodeId,
  isManager: z.boolean(),
  /** Ids of the managers that the engine knows. */
  managers: z.array(nodeId).max(32),
});
export type Swarm = z.infer<typeof swarmSchema>;

/** Whose containers an overlay network connects: those of a user, by name, or of an execution, by id. */
export const overlaySchema = z.object({
  isolation: z.enum(['user', 'execution']),
  of: z.string().max(MAX_NAME_LENGTH),
});
export type Overlay = z.infer<typeof overlaySchema>;
