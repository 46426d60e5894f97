/**
 * The plan: decides the next step of one service, and what to report about it. Pure: equal views give equal
 * steps, whatever happened before (CONT-2).
 */
import type { Assignment, ServiceKey } from '../../shared/protocol/assignment.ts';
import type { Observation } from '../../shared/protocol/up.ts';
import type { Container } from '../engine/engine.ts';
import type { OutputState } from '../logs/output-store.ts';
import type { Step } from './steps.ts';

/** Progress of a key's only start (P5). */
export type StartState =
  | { kind: 'fresh' }
  | { kind: 'image-missing' }
  | { kind: 'started' }
  | { kind: 'failed'; temporary: boolean; message: string };

export interface ServiceView {
  /** The service's assignment to this host. Undefined if the service must not run here. */
  assignment: Assignment | undefined;
  /** The service's containers, of any generation. */
  containers: readonly Container[];
  /** Start of the assignment's key. */
  start: StartState;
  /** Progress of the current work, for people. */
  detail: string | undefined;
  output: (containerId: string) => OutputState;
}

/** The next step, or undefined if nothing is to be done until something changes. */
export function planService(view: ServiceView): Step | undefined {
  const { assignment, start } = view;
  const wanted = wantedContainer(view);
  // The name is free for a new generation only after every other container of the service is gone.
  const unwanted = view.containers.find((container) => container !== wanted);
  if (unwanted) return removal(unwanted, view);
  if (!assignment) return undefined;
  if (start.kind === 'failed') return wanted && removal(wanted, view);
  if (!wanted) {
    if (start.kind === 'fresh') return { kind: 'create', assignment };
    if (start.kind === 'image-missing') return { kind: 'pull', assignment };
    return undefined;
  }
  const output = view.output(wanted.id);
  switch (wanted.state) {
    case 'created':
      return { kind: 'start', assignment, container: wanted };
    case 'running':
      return output === 'unknown' ? { kind: 'preserve-output', container: wanted } : undefined;
    case 'exited':
      return output === 'complete' ? undefined : { kind: 'preserve-output', container: wanted };
  }
}

/** The observation to report for the assignment's key. Undefined while nothing is known. */
export function observeService(view: ServiceView): Observation | undefined {
  const { assignment, start, detail } = view;
  if (!assignment) return undefined;
  const key = { service: assignment.service, generation: assignment.generation };
  if (start.kind === 'failed') {
    return { ...key, state: 'failed', temporary: start.temporary, message: start.message };
  }
  const container = wantedContainer(view);
  if (container) return observationOf(container);
  if (start.kind === 'started') return { ...key, state: 'gone' };
  return detail === undefined ? undefined : { ...key, state: 'preparing', detail };
}

/**
 * The observations for `hello`: the service's containers, and a failed start, whose container may be gone
 * before the failure is acknowledged.
 */
export function inventoryOf(view: ServiceView): Observation[] {
  const seen = view.containers.map(observationOf);
  const failure = view.start.kind === 'failed' ? observeService(view) : undefined;
  return failure ? [failure, ...seen.filter((observation) => !sameKey(observation, failure))] : seen;
}

/**
 * Marks the keys that were given up (P33) as gone. While its container exists, such a key is reported as
 * being stopped.
 */
export function withLapsed(seen: readonly Observation[], lapsed: readonly ServiceKey[]): Observation[] {
  const isLapsed = (one: ServiceKey) => lapsed.some((key) => sameKey(key, one));
  const detail = 'being stopped: the lease expired without contact with the control plane';
  return [
    ...seen.filter((observation) => !isLapsed(observation)),
    ...lapsed.map(
      (key): Observation =>
        seen.some((observation) => sameKey(observation, key))
          ? { ...key, state: 'preparing', detail }
          : lapsedOf(key),
    ),
  ];
}

export const lapsedOf = ({ service, generation }: ServiceKey): Observation => ({
  service,
  generation,
  state: 'gone',
  lapsed: true,
});

export function observationOf(container: Container): Observation {
  if (container.state === 'exited' && container.startError !== undefined) {
    const { service, generation, startError: message } = container;
    return { service, generation, state: 'failed', temporary: false, message };
  }
  const { id: containerId, cpu: _cpu, execution: _execution, idProof: _idProof, ...rest } = container;
  return { ...rest, containerId };
}

export const sameKey = (a: ServiceKey, b: ServiceKey): boolean =>
  a.service === b.service && a.generation === b.generation;

/** The container of the assignment's key. If there are two, the one that has progressed further. */
function wantedContainer({ assignment, containers }: ServiceView): Container | undefined {
  if (!assignment) return undefined;
  const ofKey = containers.filter((container) => sameKey(container, assignment));
  return ofKey.find(({ state }) => state !== 'created') ?? ofKey[0];
}

function removal(container: Container, view: ServiceView): Step {
  if (container.state === 'running') return { kind: 'stop', container };
  const unsaved = container.state === 'exited' && view.output(container.id) !== 'complete';
  return unsaved ? { kind: 'preserve-output', container } : { kind: 'remove', container };
}
