/**
 * Application description, format 3: its schema and types. Users see the descriptions of the fields in the
 * JSON Schema, in the OpenAPI document and in docs/user-guide.md; `npm run docs` updates the guide after a
 * change.
 */
import * as z from 'zod';
import { IMAGE_REFERENCE, IMAGE_REFERENCE_PROBLEM } from './image-reference.ts';
import { described, healthSchema, portSchema, restartSchema, text } from './schema-parts.ts';

export const APPLICATION_FORMAT_VERSION = 3;
export const MAX_INSTANCES = 1000;
export const MAX_SERVICES = 100;
/**
 * Entries of a list within a service: far beyond real use, and a bound on the cost of checking a hostile
 * description (API-13).
 */
export const MAX_ENTRIES = 256;
const MAX_VARIABLES = 1000;
/** Entries of the lists of all services: a megabyte of variables has 100,000, and 100 ms of checks. */
export const MAX_ALL_ENTRIES = 10_000;
/** Hosts have no longer labels. */
const MAX_LABEL_LENGTH = 256;
const MAX_LABELS = 100;
/** Characters of the different labels of an application, which stay in memory while it waits. */
export const MAX_LABEL_TEXT = 4096;
/** The engine refuses a higher id of a user or group. */
const MAX_USER_ID = 2 ** 31 - 1;

const bytes = z.int().nonnegative();
const cores = z.number().nonnegative();
/** Files with secrets of one service. */
const MAX_FILES = 64;
const FILE_PATH = /^(?!\/(dev|proc|sys)(\/|$))(\/(?!\.{1,2}(\/|$))[^/]{1,255})+$/;
const FILE_PATH_PROBLEM =
  'must be an absolute path of a file, without "//", ".", ".." or parts of more than 255 characters, and outside of /dev, /proc and /sys';
const DNS_LABEL = /^[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?$/;

const volumeSchema = described(
  z.strictObject({
    name: described(
      z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9._-]*$/, 'must be letters, digits, ".", "_" or "-"'),
      'Letters, digits, ".", "_" and "-", beginning with a letter or digit. ' +
        'The folder is mounted at /mnt/<name>. Unique within the service.',
    ),
    path: text
      .refine((path) => path.startsWith('/'), 'must be an absolute path')
      .meta({
        description:
          'The absolute path of a folder that exists on the host, beneath a folder that the operator allows.',
        pattern: '^/',
      }),
    read_only: described(z.boolean(), 'Whether the container may only read the folder.'),
  }),
  'A folder of the host, mounted in the container.',
  'Volume',
);

const fileSchema = described(
  z.strictObject({
    name: described(
      z
        .string()
        .max(64)
        .regex(
          /^[A-Za-z][A-Za-z0-9._-]*$/,
          'must be letters, digits, ".", "_" or "-", beginning with a letter',
        ),
      'The name of the file, of your own or of all users.',
    ),
    path: text.max(1024).regex(FILE_PATH, FILE_PATH_PROBLEM).meta({
      description:
        'The absolute path at which the container sees it, read-only, outside of /dev, /proc, /sys, /workspace and the volumes. Unique within the service, and not beneath another file.',
    }),
  }),
  'A file whose content is stored as a secret.',
  'File',
);

const resourcesSchema = described(
  z.strictObject({
    memory: described(
      z.strictObject({
        min: described(bytes.nullable(), 'Bytes that are reserved on the host. Null reserves nothing.'),
        max: described(
          bytes.nullable(),
          'Limit in bytes, which counts under the quota; a container beyond it is killed. At least "min". Null or 0: "min" if it is at least 6 MiB, else the default of the deployment.',
        ),
      }),
      'The memory of each instance.',
    ),
    cores: described(
      z.strictObject({
        min: described(
          cores.nullable(),
          'Cores that are reserved on the host and count under the quota; fractions are allowed. Null reserves 0.1.',
        ),
        max: described(
          cores.nullable(),
          'Limit in cores, for the use of idle cores beyond "min". At least "min". Null: no limit.',
        ),
      }),
      'The processor cores of each instance.',
    ),
    shm: described(
      bytes.nullable().optional(),
      "Size of /dev/shm in bytes. Null or absent: the engine's default.",
    ),
    shm_size: described(
      bytes.optional(),
      'The same in descriptions of other platforms. "shm" wins; 0 has no effect.',
    ),
  }),
  'What each instance of the service reserves, and what it may use.',
);

const environmentSchema = described(
  z
    .array(
      z.tuple([
        described(
          text.regex(/^[^=]+$/, 'must be a name without "="'),
          'The name of the variable, without "=".',
        ),
        text.meta({ description: 'The value. It may refer to variables such as {user_name}.' }),
      ]),
    )
    .max(MAX_VARIABLES),
  'Environment variables, each as ["NAME", "value"]. A value may refer to variables such as {user_name}.',
);

export const serviceSchema = z.strictObject({
  name: described(
    z.string().min(3).max(16).regex(DNS_LABEL, 'must be letters, digits and inner "-" (a DNS label)'),
    'Letters, digits and inner "-". Unique in the application, upper and lower case being the same. Instances are named <name>0, <name>1 and so on.',
  ),
  image: described(
    z.string().regex(IMAGE_REFERENCE, IMAGE_REFERENCE_PROBLEM),
    'The container image, as the engine of the host knows it or can pull it: a name in lower case, ' +
      'perhaps with a registry before it and a tag or digest after it.',
  ),
  monitor: described(
    z.boolean(),
    'Whether the execution ends when an instance of this service exits. At least one service must be a monitor.',
  ),
  total_count: described(
    z.int().min(1).max(MAX_INSTANCES),
    'Number of instances. All services together have at most 1000.',
  ),
  essential_count: described(
    z.int().nonnegative(),
    'Number of essential instances, at most total_count: the execution starts when all of them have a place. ' +
      'The other instances are elastic: they come and go with the free capacity.',
  ),
  startup_order: described(
    z.int(),
    'Services of a lower number start first. A service starts when all essential instances of a lower number have started and, if their health is checked, are healthy.',
  ),
  resources: resourcesSchema,
  environment: environmentSchema,
  volumes: described(z.array(volumeSchema).max(MAX_ENTRIES), 'Folders of the host that the container uses.'),
  files: described(
    z.array(fileSchema).max(MAX_FILES).optional(),
    'Files that were set with `berth file set`: the container sees them, and no disk has them.',
  ),
  ports: described(z.array(portSchema).max(MAX_ENTRIES), 'Ports of the container that users reach.'),
  publish: described(
    z.boolean().optional(),
    'Whether the host publishes the ports. False: other services, and clients through Berth, reach them only. Absent: true.',
  ),
  command: described(
    text.nullable(),
    "The command line, split into words as a POSIX shell splits it; it may refer to variables. Null: the image's own command.",
  ),
  work_dir: described(
    text.nullable().optional(),
    "The working directory of the command. Null or absent: the image's own.",
  ),
  user: described(
    z
      .string()
      .regex(/^\d{1,10}(:\d{1,10})?$/, {
        error: 'must be a user id, or a user id and a group id, such as "1000:1000"',
        abort: true,
      })
      .refine(
        (user) => user.split(':').every((id) => Number(id) <= MAX_USER_ID),
        `has an id above ${MAX_USER_ID}`,
      )
      .nullable()
      .optional(),
    'The user id as which the command runs, or user and group: "1000", "1000:1000". Each at most 2147483647. ' +
      "Null or absent: the image's own, or the one that the operator requires with folders of the host.",
  ),
  labels: described(
    z.array(text.min(1).max(MAX_LABEL_LENGTH)).max(MAX_LABELS).optional(),
    'Labels that a host must have, all of them, to run the service. ' +
      `The different labels of an application have at most ${MAX_LABEL_TEXT} characters in all.`,
  ),
  network: described(
    text.nullable().optional(),
    "A network of the host to join instead of the user's own; the operator must allow it. " +
      "Null or absent: the user's own.",
  ),
  health: healthSchema.optional(),
  restart: restartSchema.optional(),
  replicas: described(
    z.int().nonnegative().optional(),
    'Accepted for descriptions of other platforms; has no effect.',
  ),
});
serviceSchema.register(z.globalRegistry, {
  id: 'ServiceDescription',
  title: 'Service',
  description: 'A service definition: one or more containers of the same kind.',
});

/** Who else may use the web applications of an execution. */
export const shareSchema = z.literal('users');

export const applicationSchema = z.strictObject({
  name: described(
    z
      .string()
      .min(3)
      .max(128)
      .regex(/^[@a-zA-Z0-9-]+$/, 'must be letters, digits, "@" and "-"'),
    'The name of the application: letters, digits, "@" and "-".',
  ),
  version: described(z.literal(APPLICATION_FORMAT_VERSION), 'The version of the format.'),
  will_end: described(
    z.boolean(),
    'Whether the application ends by itself. It is shown to users and has no other effect.',
  ),
  size: described(
    z.int().nonnegative(),
    'An estimate of the work, in a unit of your choice. The queue policies SIZE and DYNSIZE start smaller sizes first.',
  ),
  share: described(
    shareSchema.optional(),
    'Who else may use the web applications of the services: "users" for everybody who is logged in. ' +
      'Absent: only the owner, and roles that may operate the executions of others.',
  ),
  services: described(
    z.array(serviceSchema).min(1).max(MAX_SERVICES),
    'The services. At least one of them is a monitor.',
  ),
});
applicationSchema.register(z.globalRegistry, {
  id: 'Application',
  description: 'Application description, format 3',
});

export type Application = z.infer<typeof applicationSchema>;
export type ServiceDescription = z.infer<typeof serviceSchema>;

/**
 * The same schemas with lists of any entries, which are checked one after the other: the services of an
 * application, and these lists of a service.
 */
export const serviceLists = {
  environment: serviceSchema.shape.environment,
  volumes: serviceSchema.shape.volumes,
  ports: serviceSchema.shape.ports,
  labels: serviceSchema.shape.labels,
};
const anyEntries = (limit: number) => z.array(z.unknown()).max(limit);
export const serviceFrame = serviceSchema.extend({
  environment: anyEntries(MAX_VARIABLES),
  volumes: anyEntries(MAX_ENTRIES),
  ports: anyEntries(MAX_ENTRIES),
  labels: anyEntries(MAX_LABELS).optional(),
});
export const applicationFrame = applicationSchema.extend({ services: anyEntries(MAX_SERVICES).min(1) });
