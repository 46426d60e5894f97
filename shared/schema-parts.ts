/**
 * Parts of the schema of descriptions: texts, ports with the URLs of their endpoints, and how a service
 * lives, which are its health check and its restart policy.
 */
import * as z from 'zod';

/**
 * Describes the schema in place. `describe` would copy it, and every copy of a schema costs memory at run
 * time.
 */
export const described = <T extends z.ZodType>(schema: T, description: string, title?: string): T => {
  z.globalRegistry.add(schema, { description, ...(title !== undefined && { title }) });
  return schema;
};

export const text = z
  .string()
  .refine((value) => !value.includes('\0'), 'must not contain a NUL character')
  .refine((value) => value.isWellFormed(), 'must not contain half a surrogate pair');

/** URL schemes whose text a browser runs as a program, or shows as a page with scripts. */
const RUN_SCHEMES = ['javascript', 'vbscript', 'data', 'blob', 'filesystem'];

/** Matches any case, for which JSON Schema has no flag. URL parsers skip tabs and line ends within. */
const asParsed = (scheme: string): string =>
  [...scheme].map((letter) => `[${letter}${letter.toUpperCase()}][\\t\\n\\r]*`).join('');

/**
 * Matches texts that no URL parser takes for one of these. Parsers skip leading spaces and control codes.
 */
const ENDPOINT_URL = new RegExp(`^(?![\\x00-\\x20]*(?:${RUN_SCHEMES.map(asParsed).join('|')}):)`);

const ENDPOINT_URL_PROBLEM = `must not begin with a scheme that browsers run: ${RUN_SCHEMES.join(', ')}`;

export const portSchema = described(
  z.strictObject({
    name: described(text.min(1).max(128), 'The name of the endpoint, as users see it.'),
    port_number: described(
      z.int().min(1).max(65535),
      'The port in the container. The host publishes it on a free port.',
    ),
    protocol: described(z.enum(['tcp', 'udp']), 'The transport protocol.'),
    url_template: text.regex(ENDPOINT_URL, ENDPOINT_URL_PROBLEM).meta({
      description:
        'The URL of the endpoint, with any scheme but those that browsers run. ' +
        '{ip_port} becomes the address and port on the host, {proxy_path} the path of the port, else "/".',
    }),
    proxy: described(
      z.boolean().optional(),
      'Whether the web application at this port gets a path where the deployment has an address for those ' +
        '(BERTH_APPS_PATHS). The container has the path in REVERSE_PROXY_PATH_<port>.',
    ),
    publish: described(
      z.boolean().optional(),
      'Whether the host publishes the port. Absent: as "publish" of the service.',
    ),
  }),
  'A port of the container.',
  'Port',
);

/** Whether the host publishes the port. */
export const isPublished = (
  service: { publish?: boolean | undefined },
  port: Pick<z.infer<typeof portSchema>, 'publish'>,
): boolean => port.publish ?? service.publish ?? true;

/** The engine runs these checks in the container, which costs the host far more than a connection. */
export const MIN_COMMAND_INTERVAL_S = 5;
export const MAX_PERIOD_S = 3600;
export const MAX_TIMEOUT_S = 60;
export const MAX_ATTEMPTS = 100;
export const MIN_WINDOW_S = 10;
export const MAX_WINDOW_S = 86_400;
const MAX_PATH_LENGTH = 1024;
const MAX_HEALTH_COMMAND_LENGTH = 4096;

/** What a description that leaves them out means; periods in seconds. */
export const defaultHealth = { interval: 10, timeout: 5, retries: 3, start_period: 30 } as const;

/** A new schema each time, since the descriptions differ. */
const port = () => z.int().min(1).max(65_535);

export const healthSchema = described(
  z.strictObject({
    http: described(
      z
        .strictObject({
          path: described(
            z
              .string()
              .max(MAX_PATH_LENGTH)
              .regex(/^\/[\x21-\x7e]*$/, 'must begin with "/" and have no spaces, only printable ASCII'),
            'What is requested with GET, such as "/health?full".',
          ),
          port: described(port(), 'The port in the container. It need not be published.'),
        })
        .optional(),
      'A check by HTTP: healthy with a status from 200 to 399. A redirect is not followed.',
    ),
    tcp: described(
      z
        .strictObject({
          port: described(port(), 'The port in the container. It need not be published.'),
        })
        .optional(),
      'A check by TCP: healthy if the port accepts a connection.',
    ),
    command: described(
      text.min(1).max(MAX_HEALTH_COMMAND_LENGTH).optional(),
      'A check by a command line that runs in the container: healthy with exit code 0. Split and filled in as "command" of the service.',
    ),
    image: described(z.literal(true).optional(), 'A check by the command of the HEALTHCHECK of the image.'),
    interval: described(
      z.int().min(1).max(MAX_PERIOD_S).optional(),
      `Seconds from one check to the next. At least ${MIN_COMMAND_INTERVAL_S} with "command" and "image". Absent: ${defaultHealth.interval}.`,
    ),
    timeout: described(
      z.int().min(1).max(MAX_TIMEOUT_S).optional(),
      `Seconds after which a check without an answer has failed. Absent: ${defaultHealth.timeout}.`,
    ),
    retries: described(
      z.int().min(1).max(100).optional(),
      `Checks that fail one after the other before the instance counts as unhealthy. Absent: ${defaultHealth.retries}.`,
    ),
    start_period: described(
      z.int().min(0).max(MAX_PERIOD_S).optional(),
      `Seconds from the start in which no failed check counts, until one succeeds. Absent: ${defaultHealth.start_period}.`,
    ),
  }),
  'How the health of each instance is checked: exactly one of "http", "tcp", "command" and "image". ' +
    'An instance is starting until it is healthy. One that is unhealthy has died. Absent: a running instance counts as healthy.',
);
export type HealthDescription = z.infer<typeof healthSchema>;

export const healthKinds = ['http', 'tcp', 'command', 'image'] as const;

export const restartSchema = described(
  z.strictObject({
    attempts: described(
      z.int().min(0).max(MAX_ATTEMPTS),
      'Restarts within the window. One more death ends the execution with an error. 0: the first death does.',
    ),
    window: described(
      z.int().min(MIN_WINDOW_S).max(MAX_WINDOW_S).optional(),
      'Seconds for which a death counts. Absent: 600.',
    ),
    delay: described(
      z.int().min(1).max(MAX_PERIOD_S).optional(),
      'Seconds before each restart. Absent: 1, 2, 4 and so on, at most 60.',
    ),
  }),
  'How often instances that die are started again. Absent: a monitor is not started again, others 5 times in 10 minutes. ' +
    'With it, a monitor that fails is started again too; one that exits with 0 still ends the execution. ' +
    'Other elastic instances are started again without a limit.',
);
export type RestartDescription = z.infer<typeof restartSchema>;
