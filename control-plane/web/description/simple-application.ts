/**
 * Converts the form for one container into a description, and the problems of that description into problems
 * of fields. Validity is decided by the API's own checks (draft.ts).
 */
import { MIN_MEMORY_LIMIT } from '../../core/model/resources.ts';
import { nameProblem } from '../../operations/executions/submission-input.ts';
import type { Problems } from '../components/form.ts';
import { decimal, isNegative, MEMORY_UNITS, memoryBytes } from '../components/memory-unit.ts';
import { checkDescription, type Submittable } from './draft.ts';

/** The fields as typed; an empty field requests nothing. */
export interface SimpleApplication {
  name: string;
  image: string;
  command: string;
  memory: string;
  memory_unit: string;
  cores: string;
  /** `ends` for a job, `stays` for an application that runs until it is terminated. */
  life: string;
  /** One NAME=value per line. */
  environment: string;
  ports: readonly SimplePort[];
  /** Boxes that are ticked: everybody may use the web applications; hosts publish no port. */
  isShared: boolean;
  isUnpublished: boolean;
}

export interface SimplePort {
  name: string;
  number: string;
  kind: string;
}

export const EMPTY_PORT: SimplePort = { name: '', number: '', kind: 'http' };

export const FRESH: SimpleApplication = {
  name: '',
  image: '',
  command: '',
  memory: '512',
  memory_unit: 'MiB',
  cores: '1',
  life: 'ends',
  environment: '',
  ports: [EMPTY_PORT],
  isShared: false,
  isUnpublished: false,
};

/** What users read for each `life`. */
export const LIFE_TEXTS: Readonly<Record<'ends' | 'stays', string>> = {
  ends: 'Job: ends by itself',
  stays: 'Long-running app: runs until it is terminated',
};

/** The URL template of a port, by the protocol that clients speak to it. */
export const PORT_KINDS: Readonly<Record<string, string>> = {
  http: 'http://{ip_port}/',
  https: 'https://{ip_port}/',
  tcp: 'tcp://{ip_port}',
  udp: 'udp://{ip_port}',
};

/** One more than a description may have (shared/application.ts), so that validation refuses the excess. */
const MAX_ROWS = 257;
const MAX_LINES = 1001;

export function readSimple(form: URLSearchParams): SimpleApplication {
  const text = (name: string) => form.get(name) ?? '';
  const rows = new Set([...form.keys()].flatMap((key) => /^port_number-(\d{1,4})$/.exec(key)?.[1] ?? []));
  return {
    name: text('name'),
    image: text('image').trim(),
    command: text('command'),
    memory: text('memory').trim(),
    memory_unit: text('memory_unit'),
    cores: text('cores').trim(),
    life: text('life'),
    environment: text('environment').replaceAll('\r\n', '\n'),
    ports: [...rows].slice(0, MAX_ROWS).map((row) => ({
      number: text(`port_number-${row}`).trim(),
      name: text(`port_name-${row}`).trim(),
      kind: text(`port_kind-${row}`),
    })),
    isShared: text('share') === 'users',
    isUnpublished: text('publish') === 'no',
  };
}

export type CheckedSimple =
  | { body: Submittable; problems?: undefined }
  | { body?: undefined; problems: Problems };

/** The body to submit, or the problems by field; `port_number-1` is the second row of ports. */
export function checkSimple(simple: SimpleApplication): CheckedSimple {
  const name = simple.name.trim();
  const wrongName = name === '' ? 'is required' : nameProblem(name);
  const { description, sources } = describe(simple, name);
  const { application, problems: found } = checkDescription(description);
  const problems: Record<string, string> = {
    ...(wrongName !== undefined && { name: wrongName }),
    ...unreadable(simple),
  };
  const badLines = linesWithoutValue(simple);
  for (const { pointer, message } of found) {
    const { field, line } = sources.find(({ at }) => pointer.startsWith(at)) ?? { field: 'form' };
    if (line === undefined) problems[field] ??= message;
    else if (!badLines.has(line)) badLines.set(line, message);
  }
  if (badLines.size > 0) problems.environment = linesProblem(badLines);
  if (application && Object.keys(problems).length === 0)
    return { body: { name, application, value: application } };
  return { problems };
}

/** Problems of fields that can't become part of a description. */
function unreadable({ image, memory, memory_unit, cores, ports }: SimpleApplication): Problems {
  const problems: Record<string, string> = {};
  if (image === '') problems.image = 'is required';
  const memoryProblem = Object.hasOwn(MEMORY_UNITS, memory_unit)
    ? (amountProblem(memory) ?? limitProblem(memoryBytes({ amount: memory, unit: memory_unit })))
    : 'must have the unit MiB or GiB';
  if (memoryProblem !== undefined) problems.memory = memoryProblem;
  const coresProblem = amountProblem(cores);
  if (coresProblem !== undefined) problems.cores = coresProblem;
  ports.forEach((port, at) => {
    if (isPort(port) && !/^\d{1,5}$/.test(port.number))
      problems[`port_number-${at}`] = 'must be from 1 to 65535';
  });
  return problems;
}

function amountProblem(text: string): string | undefined {
  if (isNegative(text)) return 'must be at least 0';
  return text !== '' && Number.isNaN(decimal(text)) ? 'must be a number' : undefined;
}

/** An amount of 0 means the default limit. */
const limitProblem = (bytes: number): string | undefined =>
  bytes > 0 && bytes < MIN_MEMORY_LIMIT
    ? `must be at least ${MIN_MEMORY_LIMIT / 2 ** 20} MiB, or 0 for the default: the engine accepts no smaller limit`
    : undefined;

const NOT_ASSIGNED = 'must be NAME=value';

/** The problem of each line that has no `=`. */
const linesWithoutValue = ({ environment }: SimpleApplication): Map<number, string> =>
  new Map(
    linesOf(environment)
      .filter(({ text }) => !text.includes('='))
      .map(({ line }) => [line, NOT_ASSIGNED]),
  );

/** Lines whose problems are named; the others are counted. */
const MAX_BAD_LINES = 10;

/** The problems of all lines: lines with the same one stand together. */
function linesProblem(problems: ReadonlyMap<number, string>): string {
  const first = [...problems].sort(([one], [other]) => one - other).slice(0, MAX_BAD_LINES);
  const byMessage = Map.groupBy(first, ([, message]) => message);
  const texts = [...byMessage].map(([message, lines]) => {
    const numbers = lines.map(([line]) => line);
    if (message === NOT_ASSIGNED) return `${linesText(numbers)} ${message}`;
    return `${linesText(numbers)}: ${message}`;
  });
  const rest = problems.size - first.length;
  return [
    ...texts,
    ...(rest > 0 ? [`${rest} more ${rest === 1 ? 'line has' : 'lines have'} problems`] : []),
  ].join('; ');
}

const linesText = (lines: readonly number[]): string =>
  lines.length === 1 ? `line ${lines[0]}` : `lines ${lines.slice(0, -1).join(', ')} and ${lines.at(-1)}`;

/** Maps a place in the description back to its field. */
interface Source {
  at: string;
  field: string;
  /** The line of the field. */
  line?: number;
}

function describe(simple: SimpleApplication, name: string): { description: unknown; sources: Source[] } {
  const lines = linesOf(simple.environment);
  const rows = simple.ports.map((port, at) => ({ port, at })).filter(({ port }) => isPort(port));
  const service = {
    name: 'main',
    image: simple.image,
    monitor: true,
    total_count: 1,
    essential_count: 1,
    startup_order: 0,
    resources: {
      memory: minAndMax(memoryBytes({ amount: simple.memory, unit: simple.memory_unit })),
      cores: minAndMax(decimal(simple.cores)),
    },
    environment: lines.map(({ text }) => pairOf(text)),
    volumes: [],
    ports: rows.map(({ port }) => portOf(port)),
    ...(simple.isUnpublished && { publish: false }),
    command: simple.command.trim() === '' ? null : simple.command,
  };
  const description = {
    name: applicationName(name),
    version: 3,
    will_end: simple.life === 'ends',
    size: 1,
    ...(simple.isShared && { share: 'users' }),
    services: [service],
  };
  return { description, sources: sourcesOf(lines, rows) };
}

/** Specific places come before general ones. */
function sourcesOf(lines: readonly Line[], rows: readonly { at: number }[]): Source[] {
  const source = (at: string, field: string, line?: number): Source => ({
    at: `/services/0/${at}`,
    field,
    ...(line !== undefined && { line }),
  });
  return [
    ...lines.map(({ line }, n) => source(`environment/${n}/`, 'environment', line)),
    ...rows.map(({ at }, n) => source(`ports/${n}/port_number`, `port_number-${at}`)),
    ...rows.map(({ at }, n) => source(`ports/${n}/`, `port_name-${at}`)),
    source('environment', 'environment'),
    source('ports', 'ports'),
    source('resources/memory', 'memory'),
    source('resources/cores', 'cores'),
    source('image', 'image'),
    source('command', 'command'),
  ];
}

const isPort = ({ name, number }: SimplePort): boolean => name !== '' || number !== '';

const portOf = ({ name, number, kind }: SimplePort) => ({
  name: name === '' ? `Port ${number}` : name,
  port_number: Number(number),
  protocol: kind === 'udp' ? 'udp' : 'tcp',
  url_template: PORT_KINDS[kind] ?? PORT_KINDS.http,
});

interface Line {
  line: number;
  text: string;
}

/** The first lines that are not blank. A megabyte has room for a million lines. */
function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  for (let [at, line] = [0, 1]; lines.length < MAX_LINES; line++) {
    NOT_BLANK.lastIndex = at;
    if (!NOT_BLANK.test(text)) break;
    const first = NOT_BLANK.lastIndex - 1;
    for (let skipped = at; skipped < first; skipped++) {
      if (text.charCodeAt(skipped) !== LINE_FEED) continue;
      line += 1;
      at = skipped + 1;
    }
    const next = text.indexOf('\n', first);
    const end = next < 0 ? text.length : next;
    lines.push({ line, text: text.slice(at, end) });
    at = end + 1;
  }
  return lines;
}

const NOT_BLANK = /\S/g;
const LINE_FEED = 0x0a;

function pairOf(line: string): [name: string, value: string] {
  const [name = ''] = line.split('=', 1);
  return [name.trim(), line.slice(name.length + 1)];
}

/** An equal reservation and limit; nothing for an empty amount. `unreadable` reports other texts. */
const minAndMax = (amount: number) => {
  const known = Number.isNaN(amount) ? null : amount;
  return { min: known, max: known };
};

const MAX_NAME_LENGTH = 128;

/** Turns the name of the execution into a valid application name. nameProblem refuses a longer name. */
function applicationName(name: string): string {
  const letters = name
    .slice(0, MAX_NAME_LENGTH)
    .replaceAll(/[^@a-zA-Z0-9-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return letters.length < 3 ? `app-${letters}` : letters;
}
