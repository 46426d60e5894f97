/** Assignment: everything that an agent needs to run one service, without any further lookup. */
import * as z from 'zod';

const id = z.int().positive();

/** The highest id. */
export const MAX_ID = 999_999_999_999_999;

/** Identifies one start of one service, which makes messages about it idempotent (PROTOCOL.md P5). */
export const serviceKeySchema = z.object({ service: id, generation: id });
export type ServiceKey = z.infer<typeof serviceKeySchema>;

/** Both ends are included. */
export const idRangeSchema = z.object({ first: id, last: id });
export type IdRange = z.infer<typeof idRangeSchema>;

export const portProtocolSchema = z.enum(['tcp', 'udp']);

export const assignmentSchema = serviceKeySchema.extend({
  execution: id,
  /** Container, host and DNS name: `<instance>-<execution>-<deployment>`. */
  name: z.string().min(1),
  /** Instance name within the execution, for example `worker0`. */
  instance: z.string().min(1),
  /** User name of the execution's owner. */
  owner: z.string(),
  image: z.string().min(1),
  /** Words of the command; null runs the image's own command. */
  command: z.array(z.string()).nullable(),
  /**
   * Complete, in order, with variables filled in; a later entry of the same name wins. Must never be logged,
   * because it may hold secrets.
   */
  environment: z.array(z.tuple([z.string(), z.string()])),
  workDir: z.string().nullable(),
  /** A network other than the deployment's own; null for the deployment's own. */
  network: z.string().nullable(),
  memoryMinBytes: z.int().nonnegative().nullable(),
  memoryMaxBytes: z.int().nonnegative().nullable(),
  coresMin: z.number().nonnegative().nullable(),
  coresMax: z.number().nonnegative().nullable(),
  shmBytes: z.int().nonnegative().nullable(),
  ports: z.array(z.object({ port: z.int(), protocol: portProtocolSchema })),
  volumes: z.array(z.object({ name: z.string(), path: z.string(), readOnly: z.boolean() })),
});
export type Assignment = z.infer<typeof assignmentSchema>;

/** `service.generation`, as key of maps. */
export const keyOf = ({ service, generation }: ServiceKey): string => `${service}.${generation}`;
