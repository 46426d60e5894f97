/** Makes the restart policy of a description out of `restart` or `deploy.restart_policy`. Pure. */
import type { ServiceDescription } from '../../shared/application-schema.ts';
import { MAX_ATTEMPTS, MAX_PERIOD_S, MAX_WINDOW_S, MIN_WINDOW_S } from '../../shared/schema-parts.ts';
import { bounded } from './health.ts';
import type { Path, Remarks } from './remarks.ts';
import type { ComposeService } from './schema.ts';

type Restart = NonNullable<ServiceDescription['restart']>;

interface Policy {
  /** What Compose starts again: nothing, what fails, or whatever exits. */
  after: 'nothing' | 'failure' | 'exit';
  /** Undefined: Compose never gives up. */
  attempts?: number | undefined;
  /** The field that decides it; undefined if the file has none. */
  field?: Path;
}

function policyOf({ restart, deploy }: ComposeService): Policy {
  const swarm = deploy?.restart_policy;
  if (swarm != null && (swarm.condition != null || restart == null)) {
    const after = { none: 'nothing', 'on-failure': 'failure', any: 'exit' } as const;
    return {
      after: after[swarm.condition ?? 'any'],
      attempts: swarm.max_attempts || undefined,
      field: ['deploy', 'restart_policy'],
    };
  }
  const [kind, attempts] = (restart ?? 'no').split(':');
  return {
    after: kind === 'no' ? 'nothing' : kind === 'on-failure' ? 'failure' : 'exit',
    attempts: Number(attempts ?? 0) || undefined,
    ...(restart != null && { field: ['restart'] }),
  };
}

/** Whether Compose starts it again when it exits. */
export const startsAgain = (service: ComposeService): boolean => policyOf(service).after !== 'nothing';

/** Undefined: the default. Reports what becomes of a field that has no meaning, or another one, here. */
export function restartOf(
  service: ComposeService,
  isMonitor: boolean,
  path: Path,
  remarks: Remarks,
): Restart | undefined {
  const { after, attempts, field } = policyOf(service);
  if (field === undefined) return undefined;
  const place = [...path, ...field];
  reviewCondition(after, isMonitor, place, remarks);
  if (after === 'nothing') {
    leaveOutTimes(service, path, remarks);
    return undefined;
  }
  const allowed = Math.min(MAX_ATTEMPTS, attempts ?? MAX_ATTEMPTS);
  if (attempts !== undefined && allowed < attempts)
    remarks.note(place, `allows ${attempts} restarts, and ${allowed} here`);
  return { attempts: allowed, ...timesOf(service, attempts, path, remarks) };
}

function reviewCondition(after: Policy['after'], isMonitor: boolean, place: Path, remarks: Remarks): void {
  const again = 'a service that does not end the execution starts again whenever it exits';
  if (after === 'nothing' && !isMonitor) remarks.leaveOut(place, again);
  if (after === 'failure' && !isMonitor) remarks.note(place, `is taken for always: ${again}`);
  if (after === 'exit' && isMonitor)
    remarks.note(place, 'is taken for on-failure: the execution ends when this service exits with 0');
}

/** The pauses of Compose are those of Berth by default: they grow with each restart. */
function timesOf({ deploy }: ComposeService, attempts: number | undefined, path: Path, remarks: Remarks) {
  const { delay, window } = deploy?.restart_policy ?? {};
  const place = [...path, 'deploy', 'restart_policy'];
  const times: Pick<Restart, 'delay' | 'window'> = {};
  if (delay) times.delay = bounded(delay, 1, MAX_PERIOD_S, [...place, 'delay'], remarks);
  if (window) times.window = bounded(window, MIN_WINDOW_S, MAX_WINDOW_S, [...place, 'window'], remarks);
  else if (deploy?.restart_policy?.max_attempts && attempts !== undefined) {
    times.window = MAX_WINDOW_S;
    remarks.note([...place, 'max_attempts'], 'counts the restarts of a day');
  }
  return times;
}

function leaveOutTimes({ deploy }: ComposeService, path: Path, remarks: Remarks): void {
  const { delay, max_attempts, window } = deploy?.restart_policy ?? {};
  for (const [field, given] of Object.entries({ delay, max_attempts, window }))
    if (given != null)
      remarks.leaveOut(
        [...path, 'deploy', 'restart_policy', field],
        'the file says that nothing starts again',
      );
}
