/** The links of a simulated control plane to the gateways that hold the connections of its agents. */
import type { SessionMessage } from '../../../../control-plane/coordinator/agents/agent-connection.ts';
import type { AgentSession } from '../../../../control-plane/coordinator/agents/agent-session.ts';
import type { SessionPeer } from '../../../../control-plane/coordinator/agents/session-peer.ts';
import type { Coordinator } from '../../../../control-plane/coordinator/coordinator.ts';
import { GatewayLinks } from '../../../../control-plane/coordinator/gateways/gateway-links.ts';
import type { Portion, Rejected } from '../../../../control-plane/coordinator/gateways/portion.ts';
import { encode } from '../../../../shared/protocol/codec.ts';
import type { Link } from '../world/network.ts';
import type { Process, World } from '../world/time.ts';
import type { Gateways } from './gateways.ts';

export class PlaneGatewayLinks {
  readonly #links: GatewayLinks;
  /** The connection that is being admitted. */
  #admitted: Link | undefined;

  constructor(world: World, process: Process, coordinator: Coordinator, gateways: Gateways) {
    this.#links = new GatewayLinks({
      agents: {
        admit: () => {},
        attach: (peer, hostId) => observed(this.#admitted, coordinator, peer, hostId, process),
      },
      keyOf: () => undefined,
      clock: clockOf(world, process),
      log: (event, fields = {}) => world.note(`${process.name} ${event} ${JSON.stringify(fields)}`),
      incarnation: process.name,
      down: (gateway, incarnation, batch) => gateways.at(gateway).stub(process).down(incarnation, batch),
      maxWaitingLength: 2 ** 25,
    });
    void world
      .enter(process, () => coordinator.hosts())
      .then(
        () => process.alive && this.#links.greet(gateways.numbers),
        () => {},
      );
  }

  admit(gateway: number, link: Link): string {
    this.#admitted = link;
    return this.#links.admit(gateway, { hostId: link.hostId, proofId: '', expiresMs: 0 });
  }

  up(batch: Portion<SessionMessage>[]): Rejected {
    return this.#links.up(batch);
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

/** The session of a connection at a gateway, with its messages shown to the checks. */
function observed(
  link: Link | undefined,
  coordinator: Coordinator,
  peer: SessionPeer,
  hostId: number,
  process: Process,
): Pick<AgentSession, 'hostId' | 'isClosed' | 'receive' | 'closed'> {
  const session = coordinator.agents.attach(
    {
      send: (text) => link?.relayDown(text, process) && peer.send(text),
      close: peer.close,
      get logs() {
        return peer.logs;
      },
    },
    hostId,
  );
  return {
    hostId,
    get isClosed() {
      return session.isClosed;
    },
    receive: (message) => {
      if (session.isClosed) return;
      link?.relayedUp(encode(message));
      session.receive(message);
    },
    closed: () => session.closed(),
  };
}
