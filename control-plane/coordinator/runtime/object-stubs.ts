/** Stubs of the Durable Objects, for calls between Worker, coordinator and gateways. */
import type { CoordinatorLink, GatewayLink } from './object-links.ts';
import type { CoordinatorStub } from './remote-call.ts';

/** The bindings of the Worker and its objects, beside the settings. */
export type ObjectBindings = Record<string, unknown>;

const deploymentOf = ({ BERTH_DEPLOYMENT_NAME }: ObjectBindings) => String(BERTH_DEPLOYMENT_NAME || 'local');

/** The object of that name. A stub belongs to its call: after an error it would fail all later ones. */
function stubOf<T>(binding: unknown, name: string): T {
  const namespace = binding as DurableObjectNamespace;
  return namespace.get(namespace.idFromName(name)) as T;
}

export const coordinatorStub = (env: ObjectBindings): CoordinatorStub & CoordinatorLink =>
  stubOf(env.COORDINATOR, deploymentOf(env));

export const gatewayStub = (env: ObjectBindings, gateway: number): GatewayLink =>
  stubOf(env.GATEWAY, `${deploymentOf(env)}/gateway-${gateway}`);
