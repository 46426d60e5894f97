/** The links of a simulated control plane to the gateways that hold the connections of its agents. */

import type { AgentSession } from '../../../../control-plane/coordinator/agents/agent-session.ts';
import type { SessionMessage } from '../../../../control-plane/coordinator/connections/agent-connection.ts';
import type {
  GatewayAddress,
  SessionPeer,
} from '../../../../control-plane/coordinator/connections/session-peer.ts';
import type { PassedBytes } from '../../../../control-plane/coordinator/connections/traffic.ts';
import type { Coordinator } from '../../../../control-plane/coordinator/coordinator.ts';
import { GatewayLinks } from '../../../../control-plane/coordinator/gateways/gateway-links.ts';
import type { Portion, Rejected } from '../../../../control-plane/coordinator/gateways/portion.ts';
import type { SavedLinks } from '../../../../control-plane/coordinator/sleep/saved-state.ts';
import { encode } from '../../../../shared/protocol/codec.ts';
import type { Link } from '../world/network.ts';
import type { Process, World } from '../world/time.ts';
import type { Gateways } from './gateways.ts';

export class PlaneGatewayLinks {
  readonly #links: GatewayLinks;
  /** Connections by their ids, for the checks. Those of a coordinator that slept come from it. */
  readonly #connections: Map<string, Link>;
  /** The connection that is being admitted, or resumed. */
  #current: Link | undefined;

  constructor(
    world: World,
    process: Process,
    coordinator: Coordinator,
    gateways: Gateways,
    slept?: { saved: SavedLinks; links: PlaneGatewayLinks },
  ) {
    const shown = (make: (peer: SessionPeer) => AgentSession, peer: SessionPeer) =>
      observed(this.#current, make, peer, process);
    const { agents } = coordinator;
    this.#connections = slept ? slept.links.#connections : new Map();
    this.#links = new GatewayLinks({
      agents: {
        traffic: agents.traffic,
        admit: () => {},
        attach: (peer, hostId) => shown((seen) => agents.attach(seen, hostId), peer),
        saved: {
          has: (hostId) => agents.saved.has(hostId),
          save: (hostId) => agents.saved.save(hostId),
          resume: (peer, session) => shown((seen) => agents.saved.resume(seen, session), peer),
        },
      },
      keyOf: () => undefined,
      clock: clockOf(world, process),
      log: (event, fields = {}) => world.note(`${process.name} ${event} ${JSON.stringify(fields)}`),
      incarnation: slept?.saved.incarnation ?? process.name,
      down: (gateway, incarnation, batch) => gateways.at(gateway).stub(process).down(incarnation, batch),
      maxWaitingLength: 2 ** 25,
    });
    if (slept) this.#resume(slept.saved);
    else world.enter(process, () => this.#links.greet(gateways.numbers));
  }

  admit(gateway: number, link: Link): string {
    this.#current = link;
    const id = this.#links.admit(gateway, { hostId: link.hostId, proofId: '', expiresMs: 0 });
    this.#connections.set(id, link);
    return id;
  }

  up(batch: Portion<SessionMessage>[], passed: PassedBytes): Rejected {
    return this.#links.up(batch, passed);
  }

  /** Undefined: something is under way. */
  saved(): SavedLinks | undefined {
    return structuredClone(this.#links.saved());
  }

  #resume({ connections, ...links }: SavedLinks): void {
    for (const connection of connections) {
      this.#current = this.#connections.get(connection.id);
      this.#links.resume({ ...links, connections: [connection] });
    }
    this.#links.resume({ ...links, connections: [] });
  }
}

export function clockOf(world: World, process: Process) {
  return {
    after: (delayMs: number, run: () => void) => {
      const timer = world.after(delayMs, run, process);
      return () => {
        timer.cancelled = true;
      };
    },
  };
}

/** The session that `make` begins for a connection at a gateway, with its messages shown to the checks. */
function observed(
  link: Link | undefined,
  make: (peer: SessionPeer) => AgentSession,
  peer: SessionPeer,
  process: Process,
): Pick<AgentSession, 'hostId' | 'isClosed' | 'receive' | 'closed'> {
  const session = make({
    send: (text) => link?.relayDown(text, process) && peer.send(text),
    close: peer.close,
    isWatching: true,
    get gateway() {
      return peer.gateway as GatewayAddress;
    },
  });
  return {
    hostId: session.hostId,
    get isClosed() {
      return session.isClosed;
    },
    receive: (message) => {
      if (session.isClosed) return;
      link?.relayedUp(encode(message));
      session.receive(message);
    },
    closed: (silentMs) => session.closed(silentMs),
  };
}
