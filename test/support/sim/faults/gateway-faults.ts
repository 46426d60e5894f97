/** Faults of gateways, and of the calls between them and the coordinator. */
import type { CallFault } from '../plane/gateway-calls.ts';
import { type Fault, SECOND_MS } from './fault.ts';
import type { GatewayFaultName } from './fault-names.ts';

const calls =
  (fault: CallFault): Fault =>
  ({ gateways, faults }) => {
    if (!gateways) return false;
    const { calls } = gateways;
    calls.faults.set(fault, calls.pick([0.05, 0.3, 0.8]));
    faults.undoAfter(calls.between(1, 30 * SECOND_MS), () => calls.faults.delete(fault));
    return true;
  };

export const gatewayFaults = {
  'gateway killed': ({ gateways }) => {
    if (!gateways || gateways.all.length === 0) return false;
    gateways.calls.pick(gateways.all).kill(gateways.calls.chance(0.2));
    return true;
  },
  'gateway sleeps': ({ gateways }) => {
    if (!gateways || gateways.all.length === 0) return false;
    gateways.calls.pick(gateways.all).sleep();
    return true;
  },
  'coordinator sleeps': (simulation) => {
    const { gateways, world } = simulation;
    if (!gateways) return false;
    const untilMs = world.nowMs + gateways.calls.between(1, 120) * SECOND_MS;
    let gapMs = gateways.calls.between(1, 5) * SECOND_MS;
    const attempt = () => {
      if (world.nowMs > untilMs) return;
      if (simulation.controlPlanes.at(-1)?.sleep()) {
        world.count('coordinator: sleeps');
        gapMs = gateways.calls.between(1, 20) * SECOND_MS;
      }
      world.after(gapMs, attempt);
    };
    attempt();
    return true;
  },
  'gateway calls late': calls('late'),
  'gateway calls lost': calls('lost'),
  'gateway calls without an answer': calls('answer lost'),
  'gateway calls doubled': calls('doubled'),
  'gateway calls hang': calls('hanging'),
} satisfies Record<GatewayFaultName, Fault>;
