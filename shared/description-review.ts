/** Lists what a description runs and takes from who submits it, for a person who did not write it. */
import type { Application, ServiceDescription } from './application-schema.ts';
import { secretsIn } from './variables.ts';

/** Characters of an image, a command or a path. The end of a longer one is replaced by its length. */
const MAX_TEXT_LENGTH = 2000;

export interface ReviewItem {
  name: string;
  /** What there is of it; empty: nothing. */
  entries: readonly string[];
}

/** Every secret, file and folder is there, however many: none can hide behind others. */
export function reviewOf({ services, share }: Application): ReviewItem[] {
  const each = (entriesOf: (service: ServiceDescription) => readonly string[]): string[] =>
    services.flatMap((service) => entriesOf(service).map((entry) => `${service.name}: ${cut(entry)}`));
  return [
    { name: 'Image', entries: each(({ image }) => [image]) },
    { name: 'Command', entries: each(commandsOf) },
    {
      name: 'Secrets',
      entries: each(({ environment }) => secretsIn(environment.map(([, value]) => value))),
    },
    { name: 'Files', entries: each(({ files = [] }) => files.map(({ name, path }) => `${name} at ${path}`)) },
    {
      name: 'Volumes',
      entries: each(({ volumes }) =>
        volumes.map(
          ({ name, path, read_only }) => `${path} at /mnt/${name}${read_only ? ', read-only' : ', writable'}`,
        ),
      ),
    },
    { name: 'Networks', entries: each(({ network }) => (network ? [network] : [])) },
    { name: 'Runs as', entries: each(({ user }) => (user ? [`user id ${user}`] : [])) },
    {
      name: 'Shared',
      entries: share === 'users' ? ['everybody who is logged in may use its web applications'] : [],
    },
  ];
}

function commandsOf({ command, health }: ServiceDescription): string[] {
  const commands = [command ?? 'that of the image'];
  if (health?.command !== undefined) commands.push(`${health.command} (health check)`);
  return commands;
}

/** Characters that would show a text in another order, or not at all, are written as their codes. */
const cut = (text: string): string => {
  const shown =
    text.length > MAX_TEXT_LENGTH
      ? `${text.slice(0, MAX_TEXT_LENGTH).toWellFormed()}… (${text.length} characters)`
      : text;
  return shown.replaceAll(
    /[^\P{Cc}\n\t]|\p{Bidi_Control}/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
};

/** What each submission takes besides. */
export const TAKES_OF_ITS_OWNER =
  'Its containers run as yours: under your quota, with your workspace and your user id for files. ' +
  'They get the secrets and files of these names that you have, and pull with your credentials of registries.';
