/** Reads arguments of commands. */
import { timeOf } from '../terminal/time.ts';
import { SECONDS } from './durations.ts';

/** For an option that may be given several times. */
export const repeated = (value: string, before: readonly string[] = []): string[] => [...before, value];

/** A positive integer. Throws for any other text. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new Error(`${text} is not a positive integer; berth ps lists executions with their ids.`);
}

/** A number of last lines. Throws for any other text. */
export function linesOf(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`${text} is not a number of lines; give one such as 100.`);
}

/** A positive number of seconds. Throws for any other text. */
export function secondsOf(text: string): number {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= 1e6) return seconds;
  throw new Error(`${text} is not a number of seconds; give one such as 60.`);
}

const AGE = /^(\d{1,6})(s|m|h|d)$/;
/** As this program and the pages of the control plane show them. Without a zone, a time is local. */
const STAMP = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(?: ?(Z|UTC|[+-]\d\d:?\d\d))?)?$/i;
/** As `--json` has them. */
const EPOCH_S = /^\d{9,11}(?:\.\d{1,9})?$/;

/** In ms since the epoch: an age such as `10m`, or a time as it is shown. Throws for any other text. */
export function timeMsOf(given: string): number {
  const text = given.trim();
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  if (count !== undefined)
    return Date.now() - Number(count) * (SECONDS[unit as keyof typeof SECONDS] ?? 1) * 1_000;
  if (EPOCH_S.test(text)) return Number(text) * 1_000;
  const [, day = '', time = '00:00', zone = ''] = STAMP.exec(text) ?? [];
  const timeMs = Date.parse(`${day}T${time}${/^(?:z|utc)$/i.test(zone) ? 'Z' : zone}`);
  if (Number.isFinite(timeMs)) return timeMs;
  throw new Error(
    `${given} is not a time; give an age such as 10m, or a time such as ${timeOf(Date.now() / 1_000)}.`,
  );
}

interface Named {
  name: string;
  service_group: string;
}

/** The service of that name, or those of that group; all without a name. Throws if there is none. */
export function servicesNamed<Service extends Named>(
  execution: number,
  all: readonly Service[],
  name: string | undefined,
): readonly Service[] {
  if (name === undefined) return all;
  const one = all.filter((service) => service.name === name);
  const found = one.length > 0 ? one : all.filter(({ service_group }) => service_group === name);
  if (found.length > 0) return found;
  const known = all.map((service) => service.name).join(', ');
  throw new Error(`Execution ${execution} has no service ${name}; it has ${known}.`);
}

/** The id of an execution, and the service of it that may follow after a slash. */
export function placeOf(given: string): { id: number; service?: string } {
  const [id = '', ...service] = given.split('/');
  return { id: idOf(id), ...(service.length > 0 && { service: service.join('/') }) };
}
