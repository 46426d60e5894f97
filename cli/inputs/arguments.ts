/** Reads arguments of commands. */
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

/** A time in ms since the epoch: an age such as `10m`, or a date. Throws for any other text. */
export function timeMsOf(text: string): number {
  const [, count, unit = ''] = AGE.exec(text) ?? [];
  const timeMs =
    count === undefined
      ? Date.parse(text)
      : Date.now() - Number(count) * (SECONDS[unit as keyof typeof SECONDS] ?? 1) * 1_000;
  if (Number.isFinite(timeMs)) return timeMs;
  throw new Error(`${text} is not a time; give an age such as 10m, or a date such as 2026-11-26T12:00:00Z.`);
}

/** The id of an execution, and the service of it that may follow after a slash. */
export function placeOf(given: string): { id: number; service?: string } {
  const [id = '', ...service] = given.split('/');
  return { id: idOf(id), ...(service.length > 0 && { service: service.join('/') }) };
}
