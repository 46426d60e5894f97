/** Isolation scope: the user or the execution whose containers share networks, and their names. Pure. */
import { createHash } from 'node:crypto';
import type { Assignment } from '../../../shared/protocol/assignment.ts';
import { label } from '../labels.ts';

/** `deployment`: all containers of the deployment share one network. */
export type Scope = { kind: 'user' | 'execution'; of: string } | { kind: 'deployment' };

/** A control plane that sends no isolation separates users. */
export function scopeOf({ isolation = 'user', owner, execution }: Assignment): Scope {
  if (isolation === 'none') return { kind: 'deployment' };
  return isolation === 'user' ? { kind: 'user', of: owner } : { kind: 'execution', of: String(execution) };
}

/** The inverse of `labelsOf`. */
export function scopeOfLabels(labels: Record<string, string> = {}): Scope {
  const { [label.owner]: owner, [label.execution]: execution } = labels;
  if (owner !== undefined) return { kind: 'user', of: owner };
  return execution === undefined ? { kind: 'deployment' } : { kind: 'execution', of: execution };
}

/** Labels of the scope's networks. */
export function labelsOf(scope: Scope, deployment: string): Record<string, string> {
  const common = { [label.deployment]: deployment };
  if (scope.kind === 'deployment') return common;
  return { ...common, [scope.kind === 'user' ? label.owner : label.execution]: scope.of };
}

/**
 * The name of the overlay network that the labels of a container name. Undefined if it is not one of the
 * container's own scopes: an image may have a label of this name, and name any network.
 */
export function overlayOfLabels(labels: Record<string, string>, deployment: string): string | undefined {
  const { [label.owner]: owner = '', [label.execution]: execution = '', [label.overlay]: overlay } = labels;
  const own: Scope[] = [
    { kind: 'user', of: owner },
    { kind: 'execution', of: execution },
  ];
  return own.map((scope) => overlayName(scope, deployment)).find((name) => name === overlay);
}

/** For messages, for example `user alice`. */
export const scopeText = (scope: Scope): string =>
  scope.kind === 'deployment' ? 'the deployment' : `${scope.kind} ${scope.of}`;

/**
 * The name of the scope's network. The engine takes a container's default gateway from the first of its
 * networks by name, so a later `tier` leaves the gateway of a running container in place.
 */
export function networkName(scope: Scope, deployment: string, tier: number | 'swarm'): string {
  if (scope.kind === 'deployment') return `berth-${deployment}`;
  const hash = createHash('sha256').update(scopeText(scope)).digest('hex').slice(0, 12);
  return `berth-${deployment}-${hash}-${tier}`;
}

/** The name of the scope's overlay network. It sorts after the others for the same reason. */
export const overlayName = (scope: Scope, deployment: string): string =>
  networkName(scope, deployment, 'swarm');

/**
 * The name of the bridge of the n-th sub-network, with the 15 characters that the kernel allows. Several
 * engines may share one network namespace, so the name depends on the engine, too.
 */
export const bridgeName = (engineId: string, subnet: number): string =>
  `${bridgePrefix(engineId)}${(subnet % 16 ** 5).toString(16).padStart(5, '0')}`;

export const bridgePrefix = (engineId: string): string =>
  `berth${createHash('sha256').update(engineId).digest('hex').slice(0, 5)}`;
