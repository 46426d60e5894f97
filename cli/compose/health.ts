/** Makes the health check of a description out of that of a Compose service. Pure. */
import type { ServiceDescription } from '../../shared/application-schema.ts';
import { MAX_PERIOD_S, MAX_TIMEOUT_S, MIN_COMMAND_INTERVAL_S } from '../../shared/schema-parts.ts';
import type { Path, Remarks } from './remarks.ts';
import type { ComposeHealthcheck, ComposeService } from './schema.ts';
import { commandWithReferences } from './texts.ts';

type Health = NonNullable<ServiceDescription['health']>;

/** What Compose takes for a field that is absent or 0. */
const DEFAULTS = { interval: 30, timeout: 30, retries: 3 } as const;

/** Whether Compose checks the health of its containers, as far as the file says. */
export const isChecked = ({ healthcheck }: ComposeService): boolean =>
  healthcheck != null && !isDisabled(healthcheck);

export const isDisabled = ({ disable, test }: ComposeHealthcheck): boolean =>
  disable === true || (Array.isArray(test) && test[0] === 'NONE');

/**
 * Undefined if nothing is checked. `isAwaited`: another service waits until this one is healthy, which is
 * then a matter of its image if the file has no check.
 */
export function healthOf(
  { healthcheck }: ComposeService,
  isAwaited: boolean,
  path: Path,
  remarks: Remarks,
): Health | undefined {
  if (healthcheck == null) return isAwaited ? { image: true } : undefined;
  if (isDisabled(healthcheck)) return undefined;
  const place = [...path, 'healthcheck'];
  const kind = kindOf(healthcheck.test ?? [], [...place, 'test'], remarks);
  if (!kind) return undefined;
  remarks.note(
    place,
    'also decides when an instance has started, and ends an unhealthy one, which starts again as after any other end',
  );
  return { ...kind, ...timesOf(healthcheck, place, remarks) };
}

/** Without words the image's own check counts. */
function kindOf(
  test: string | string[],
  place: Path,
  remarks: Remarks,
): Pick<Health, 'command'> | Pick<Health, 'image'> | undefined {
  const command = (words: readonly string[]) => ({ command: commandWithReferences(words, place, remarks) });
  const shell = (text: string) => command(['/bin/sh', '-c', text]);
  if (typeof test === 'string') return shell(test);
  const [kind, ...words] = test;
  if (kind === undefined) return { image: true };
  if (kind === 'CMD' && words.length > 0) return command(words);
  if (kind === 'CMD-SHELL' && words.length > 0) return shell(words.join(' '));
  remarks.problem(place, 'must be a command line, or a list that begins with CMD, CMD-SHELL or NONE');
  return undefined;
}

/** The first check of Compose comes after the first interval: no failure before it may count here. */
function timesOf(healthcheck: ComposeHealthcheck, place: Path, remarks: Remarks) {
  const { interval, timeout, retries, start_period: start } = healthcheck;
  const within = (field: string, seconds: number, min: number, max: number) =>
    bounded(seconds, min, max, [...place, field], remarks);
  const every = within('interval', interval || DEFAULTS.interval, MIN_COMMAND_INTERVAL_S, MAX_PERIOD_S);
  return {
    interval: every,
    timeout: within('timeout', timeout || DEFAULTS.timeout, 1, MAX_TIMEOUT_S),
    retries: retries || DEFAULTS.retries,
    start_period: Math.max(every, within('start_period', start ?? 0, 0, MAX_PERIOD_S)),
  };
}

/** Whole seconds, at least `min` and at most `max`; what becomes something else is noted. */
export function bounded(seconds: number, min: number, max: number, place: Path, remarks: Remarks): number {
  const used = Math.min(max, Math.max(min, Math.ceil(seconds)));
  if (used !== seconds)
    remarks.note(place, `is ${seconds} s, and ${used} s here: whole seconds from ${min} to ${max}`);
  return used;
}
