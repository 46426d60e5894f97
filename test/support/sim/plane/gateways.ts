/** The gateways of a simulated world. In two thirds of the worlds the coordinator needs none. */
import { gatewayOf } from '../../../../control-plane/coordinator/gateways/gateway-of.ts';
import type { Network } from '../world/network.ts';
import type { World } from '../world/time.ts';
import type { ControlPlane } from './control-plane.ts';
import type { GatewayCalls } from './gateway-calls.ts';
import { GatewayServer } from './gateway-server.ts';

export class Gateways {
  readonly calls: GatewayCalls;
  readonly #servers = new Map<number, GatewayServer>();
  /** The gateway of a host. */
  readonly of: (hostId: number) => GatewayServer;
  readonly #make: (number: number) => GatewayServer;

  /** `coordinator` returns the control plane that calls reach at the time. */
  constructor(
    world: World,
    network: Network,
    calls: GatewayCalls,
    coordinator: () => ControlPlane | undefined,
    lostAfterMs: number,
  ) {
    this.calls = calls;
    this.#make = (number) => new GatewayServer(number, world, network, calls, coordinator, lostAfterMs);
    const hostsPerGateway = calls.pick([1, 2, 100]);
    this.of = (hostId) => this.at(gatewayOf(hostId, hostsPerGateway));
    network.gatewayOf = this.of;
  }

  get numbers(): number[] {
    return [...this.#servers.keys()];
  }

  get all(): GatewayServer[] {
    return [...this.#servers.values()];
  }

  at(number: number): GatewayServer {
    const known = this.#servers.get(number) ?? this.#make(number);
    this.#servers.set(number, known);
    return known;
  }
}
