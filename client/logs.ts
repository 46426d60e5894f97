/** Reads the output of services of an execution as lines. */
import type { Service } from './api-types.ts';
import type { FollowOptions } from './follow-options.ts';
import { type LinePart, LineSplitter } from './lines.ts';
import { MAX_SERVICES, type Output } from './output.ts';

export interface LogLine {
  /** Name of the service, such as `worker0`. */
  service: string;
  /** Without its end. What is not UTF-8 becomes U+FFFD, and a line of more than 64 KiB comes in parts. */
  text: string;
  /** True if the line goes on in the next part of the service. */
  partial?: true;
}

export interface LogOptions extends FollowOptions {
  /** Names of the services; all of them by default. */
  services?: readonly string[] | undefined;
  /** Whether each line begins with its time, such as `2026-11-26 12:00:00 `, in UTC. Default: false. */
  timestamps?: boolean | undefined;
}

export async function* readLines(
  executionId: number,
  services: () => Promise<Service[]>,
  output: (ids: readonly number[]) => AsyncIterable<Output>,
  options: LogOptions,
): AsyncGenerator<LogLine> {
  const chosen = chosenServices(executionId, await services(), options.services);
  const names = new Map(chosen.map(({ id, name }) => [id, name]));
  const splitter = new LineSplitter();
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const lineOf = (service: number, { bytes, end }: LinePart): LogLine => ({
    service: names.get(service) ?? '',
    text: decoder.decode(bytes),
    ...(end === undefined && { partial: true }),
  });
  for await (const { service, start, bytes } of output([...names.keys()]))
    for (const part of splitter.push(service, start, bytes)) yield lineOf(service, part);
  for (const [service, part] of splitter.rest()) yield lineOf(service, part);
}

/** The services of those names or groups, or all. Throws if a name has none, or if there are too many. */
export function chosenServices<S extends { name: string; service_group: string }>(
  executionId: number,
  all: readonly S[],
  names: readonly string[] | undefined,
): readonly S[] {
  const known = all.map(({ name }) => name).join(', ');
  const isOf = (name: string) => (one: S) => one.name === name || one.service_group === name;
  const unknown = names?.find((name) => !all.some(isOf(name)));
  if (unknown !== undefined)
    throw new Error(`Execution ${executionId} has no service ${unknown}; it has ${known}.`);
  const chosen = names ? all.filter((one) => names.some((name) => isOf(name)(one))) : all;
  if (chosen.length <= MAX_SERVICES) return chosen;
  throw new Error(`At most ${MAX_SERVICES} services can be read at once: choose some of ${known} by name.`);
}
