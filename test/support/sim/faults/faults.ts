/** Every fault by its name. */
import type { Simulation } from '../simulation.ts';
import { connectionFaults } from './connection-faults.ts';
import type { Fault } from './fault.ts';
import type { FaultName } from './fault-names.ts';
import { gatewayFaults } from './gateway-faults.ts';
import { hostFaults } from './host-faults.ts';
import { planeFaults } from './plane-faults.ts';

const faults: Record<FaultName, Fault> = {
  ...connectionFaults,
  ...hostFaults,
  ...planeFaults,
  ...gatewayFaults,
};

/** Causes a fault, and counts it if there was something to apply it to. */
export function causeFault(name: FaultName, simulation: Simulation): void {
  simulation.world.note(`FAULT ${name}`);
  if (faults[name](simulation)) simulation.world.count(`fault: ${name}`);
}
