/** Assignment: everything that an agent needs to run one service, without any further lookup. */
import * as z from 'zod';
import {
  MAX_ENVIRONMENT,
  MAX_EXPANDED_LENGTH,
  MAX_NAME_LENGTH,
  MAX_PLAIN_LENGTH,
  MAX_PUBLISHED_PORTS,
  MAX_VOLUMES,
  MAX_WORDS,
} from './bounds.ts';
import { healthCheckSchema } from './health.ts';
import { credentialsIdSchema } from './secrets.ts';

/** The highest id. */
export const MAX_ID = 999_999_999_999_999;

const id = z.int().positive().max(MAX_ID);
const plainText = z.string().max(MAX_PLAIN_LENGTH);
const MAX_LABELS = 16;
const hasFewKeys = (labels: object): boolean => Object.keys(labels).length <= MAX_LABELS;
const expandedText = z.string().max(MAX_EXPANDED_LENGTH);

/** Identifies one start of one service, which makes messages about it idempotent (PROTOCOL.md P5). */
export const serviceKeySchema = z.object({ service: id, generation: id });
export type ServiceKey = z.infer<typeof serviceKeySchema>;

/** Both ends are included. */
export const idRangeSchema = z.object({ first: id, last: id });
export type IdRange = z.infer<typeof idRangeSchema>;

/** Proof of an execution id and a service id (P143). Can be part of labels and of names of files. */
export const idProofSchema = z
  .string()
  .max(64)
  .regex(/^[\w-]{1,64}$/);

/** Ids that a control plane gave, with its proof. */
export const provenIdsSchema = z.object({
  execution: id,
  service: id,
  proof: idProofSchema,
});
export type ProvenIds = z.infer<typeof provenIdsSchema>;

export const portProtocolSchema = z.enum(['tcp', 'udp']);

export const isolations = ['user', 'execution', 'none'] as const;
export type Isolation = (typeof isolations)[number];

export const assignmentSchema = serviceKeySchema.extend({
  execution: id,
  /** Proof of the ids of execution and service (P143). */
  idProof: idProofSchema,
  /** Container, host and DNS name: `<instance>-<execution>-<deployment>`. */
  name: z.string().min(1).max(MAX_NAME_LENGTH),
  /** Instance name within the execution, for example `worker0`. */
  instance: z.string().min(1).max(MAX_NAME_LENGTH),
  /** User name of the execution's owner. */
  owner: z.string().max(MAX_NAME_LENGTH),
  image: plainText.min(1),
  /** Words of the command; null runs the image's own command. */
  command: z.array(expandedText).max(MAX_WORDS).nullable(),
  /**
   * Complete, in order, with variables filled in; a later entry of the same name wins. Must never be logged,
   * because it may hold secrets.
   */
  environment: z.array(z.tuple([plainText, expandedText])).max(MAX_ENVIRONMENT),
  /**
   * The agent must fetch the environment before each start, because it has values of secrets (P220). Then
   * `environment` is empty.
   */
  secrets: z.boolean().optional(),
  /**
   * Fingerprint of the owner's credentials for the image's registry, which the agent must fetch for a pull
   * (P232). It reveals nothing of them.
   */
  credentials: credentialsIdSchema.optional(),
  workDir: plainText.nullable(),
  /** `uid` or `uid:gid`; null for the image's own. */
  user: z.string().max(32).nullable(),
  /** The owner's `fs_uid`. */
  ownerUid: z.int().positive(),
  /** A network that the host's settings must allow; null for the one of the owner (P91). */
  network: plainText.nullable(),
  /** What shares networks: all containers of the owner, of the execution, or all. */
  isolation: z.enum(isolations),
  /**
   * In a swarm: the container also joins the overlay network of its owner or execution (P98). `now`: an agent
   * on a manager has been asked to make it; `later`: none is connected. Absent: no overlay network.
   */
  overlay: z.enum(['now', 'later']).optional(),
  memoryMinBytes: z.int().nonnegative().nullable(),
  memoryMaxBytes: z.int().nonnegative().nullable(),
  coresMin: z.number().nonnegative().nullable(),
  coresMax: z.number().nonnegative().nullable(),
  shmBytes: z.int().nonnegative().nullable(),
  /** `publish`: false for a port that the host must not publish (P290). */
  ports: z
    .array(z.object({ port: z.int(), protocol: portProtocolSchema, publish: z.literal(false).optional() }))
    .max(MAX_PUBLISHED_PORTS),
  volumes: z.array(z.object({ name: plainText, path: plainText, readOnly: z.boolean() })).max(MAX_VOLUMES),
  /** Absent: none. */
  health: healthCheckSchema.optional(),
  /** Where the container has the workspace of its owner. Absent: /workspace. */
  workspace: plainText.startsWith('/').optional(),
  /** Labels of the container besides those of the agent. */
  labels: z.record(plainText, plainText).refine(hasFewKeys, `has more than ${MAX_LABELS} labels`).optional(),
});
export type Assignment = z.infer<typeof assignmentSchema>;

/** `service.generation`, as key of maps. */
export const keyOf = ({ service, generation }: ServiceKey): string => `${service}.${generation}`;
