/**
 * Descriptions as the earlier platform reads them, in the words of Berth and back (SPEC H739). What is wrong
 * stays as it is, for the checks of descriptions.
 */
import { joinCommand, splitCommand } from '../../../shared/command.ts';
import { escapeReferences, unescapeReferences } from '../../../shared/variables.ts';

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A description that a client of the earlier platform sends. */
export const readDescription = (description: unknown): unknown =>
  isFields(description) && Array.isArray(description.services)
    ? { ...description, services: description.services.map(readService) }
    : description;

function readService(service: unknown): unknown {
  if (!isFields(service)) return service;
  const { command, volumes, resources } = service;
  return {
    ...service,
    ...(typeof command === 'string' && { command: withoutReferences(command) }),
    ...(Array.isArray(volumes) && { volumes: volumes.map(readVolume) }),
    ...(isFields(resources) && { resources: readResources(resources) }),
  };
}

/** There, no braces in a command are filled in. */
const withoutReferences = (command: string): string =>
  mapWords(command, (word) => escapeReferences(word, () => false));

/** Other fields have no meaning there. */
function readVolume(volume: unknown): unknown {
  if (!isFields(volume)) return volume;
  const known = ['name', 'path', 'read_only'].filter((name) => Object.hasOwn(volume, name));
  return Object.fromEntries(known.map((name) => [name, volume[name]]));
}

/** There, the limit is the minimum, and what stands as `max` counts nowhere. */
const readResources = (resources: Fields): Fields =>
  Object.fromEntries(
    Object.entries(resources).map(([name, range]) => [name, isFields(range) ? readRange(range) : range]),
  );

function readRange(range: Fields): Fields {
  const { min, max } = range;
  const least = min === null ? 0 : min;
  return typeof least === 'number' && typeof max === 'number' && max < least ? { ...range, max: min } : range;
}

/** A service of a description, as such a client would send it. */
export function showService<S extends { command: string | null }>(service: S): S {
  const { command } = service;
  return command?.includes('{{') ? { ...service, command: mapWords(command, unescapeReferences) } : service;
}

/** The JSON text of a stored description. Most need no change. */
export function showDescription(text: string): string {
  if (!text.includes('{{')) return text;
  const { services, ...rest } = JSON.parse(text) as { services: { command: string | null }[] };
  return JSON.stringify({ ...rest, services: services.map(showService) });
}

/** The command with other words; the text itself if no word changes, or if it can't be split. */
function mapWords(command: string, map: (word: string) => string): string {
  if (!command.includes('{')) return command;
  const split = splitCommand(command);
  if ('problem' in split) return command;
  const words = split.words.map(map);
  return words.every((word, at) => word === split.words[at]) ? command : joinCommand(words);
}
