/** The shape of a Compose file as far as it is translated. Numbers are texts (document.ts). */
import * as z from 'zod';
import { isPeriod, isSize, secondsOf } from './sizes.ts';

const text = z.string({ error: 'must be text' });
const whole = text.regex(/^\d{1,9}$/, 'must be a whole number').transform(Number);
const size = text.refine(isSize, {
  error: 'must be a size such as 512m or 2g',
});
/** In seconds. */
const period = text.refine(isPeriod, { error: 'must be a period such as 30s or 1m30s' }).transform(secondsOf);
const cores = text.regex(/^\d{1,6}(\.\d{1,9})?$/, 'must be a number of cores such as 0.5').transform(Number);
const flag = z.union([z.boolean(), z.stringbool()], { error: 'must be true or false' });
const one = <T extends readonly [z.ZodType, ...z.ZodType[]]>(kinds: T, error: string) =>
  z.union(kinds, { error });

const words = one([text, z.array(text)], 'must be text or a list of texts');
/** `NAME: value`, or a list of `NAME=value`. Without a value the environment has it. */
const variables = one(
  [z.record(z.string(), z.union([text, z.boolean()]).nullable()), z.array(text)],
  'must map names to texts, or be a list of NAME=VALUE',
);

const envFile = one(
  [text, z.object({ path: text, required: flag.default(true), format: z.literal('raw').optional() })],
  'must be a path, or have a path',
);
const port = one(
  [
    text,
    z.object({
      target: text,
      published: text.nullish(),
      protocol: text.default('tcp'),
      app_protocol: text.nullish(),
      name: text.nullish(),
    }),
  ],
  'must be a port such as "8080:80", or have a target',
);
const volume = one(
  [
    text,
    z.object({
      type: text,
      source: text.nullish(),
      target: text,
      read_only: flag.default(false),
    }),
  ],
  'must be text such as ./data:/mnt/data, or have a type and a target',
);
const dependency = z
  .object({ condition: text.default('service_started'), required: flag.default(true) })
  .nullish()
  .transform((given) => given ?? { condition: 'service_started', required: true });

const deploy = z.object({
  mode: text.nullish(),
  replicas: whole.nullish(),
  resources: z
    .object({
      limits: z.object({ cpus: cores.nullish(), memory: size.nullish() }).nullish(),
      reservations: z.object({ cpus: cores.nullish(), memory: size.nullish() }).nullish(),
    })
    .nullish(),
  restart_policy: z
    .object({
      condition: z
        .enum(['none', 'on-failure', 'any'], { error: 'must be none, on-failure or any' })
        .nullish(),
      delay: period.nullish(),
      max_attempts: whole.nullish(),
      window: period.nullish(),
    })
    .nullish(),
});

const healthcheck = z.object({
  test: words.nullish(),
  interval: period.nullish(),
  timeout: period.nullish(),
  retries: whole.nullish(),
  start_period: period.nullish(),
  disable: flag.nullish(),
});

export const composeService = z.object({
  image: text.nullish(),
  command: words.nullish(),
  environment: variables.nullish(),
  env_file: one([text, z.array(envFile)], 'must be a path or a list of paths').nullish(),
  ports: z.array(port).nullish(),
  volumes: z.array(volume).nullish(),
  depends_on: one(
    [z.array(text), z.record(z.string(), dependency)],
    'must be a list of services, or map them to conditions',
  ).nullish(),
  deploy: deploy.nullish(),
  healthcheck: healthcheck.nullish(),
  scale: whole.nullish(),
  mem_limit: size.nullish(),
  mem_reservation: size.nullish(),
  cpus: cores.nullish(),
  shm_size: size.nullish(),
  user: text.nullish(),
  working_dir: text.nullish(),
  restart: text
    .regex(/^(?:no|always|unless-stopped|on-failure(?::\d{1,9})?)$/, {
      error: 'must be no, always, unless-stopped, on-failure or on-failure:N',
    })
    .nullish(),
  profiles: z.array(text).nullish(),
  'x-berth': z.record(z.string(), z.unknown()).nullish(),
});

export const composeTop = z.object({
  name: text.nullish(),
  services: z.record(z.string(), z.unknown(), {
    error: 'must map names to services; the name of a file with a description of Berth ends with .json',
  }),
  'x-berth': z.record(z.string(), z.unknown()).nullish(),
});

export type ComposeService = z.output<typeof composeService>;
export type ComposeHealthcheck = NonNullable<ComposeService['healthcheck']>;
export type ComposePort = NonNullable<ComposeService['ports']>[number];
export type ComposeVolume = NonNullable<ComposeService['volumes']>[number];
