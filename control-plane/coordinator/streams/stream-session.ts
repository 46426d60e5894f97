/**
 * One client of a stream from its upgrade to its end: reads what it requests, obtains its placement, and
 * joins it with the agent. The same on Node and at a gateway.
 */
import { decodeRequest, targetOf } from '../../../shared/streams/client-messages.ts';
import { streamDeed } from '../../core/accounts/audit.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import type { ChannelAddress } from './placement.ts';
import type { PlacementSource } from './placements.ts';
import { followStream } from './stream-placement.ts';
import { type ClientSocket, StreamRelay } from './stream-relay.ts';

export interface StreamSessionDeps extends PlacementSource {
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  rules: StreamRules;
  /** The channels of the agent's connection; undefined if it has ended. */
  channelsAt(at: ChannelAddress): Promise<ChannelPort | undefined>;
}

/** How long a client may take to send its request. */
const REQUEST_MS = 10_000;
/** How long its placement may take. A call to another object may never be answered. */
const PERMIT_MS = 60_000;

export class StreamSession {
  readonly #deps: StreamSessionDeps;
  readonly #request: StreamRequest;
  readonly #relay: StreamRelay;
  #isRequested = false;
  #isOver = false;
  #cancelWait: () => void;
  #leavePlacement = () => {};

  constructor(client: ClientSocket, request: StreamRequest, deps: StreamSessionDeps) {
    this.#deps = deps;
    this.#request = request;
    this.#relay = new StreamRelay({ client, clock: deps.clock, times: deps.rules, over: () => this.#over() });
    this.#cancelWait = this.#endAfter(REQUEST_MS, `No request arrived within ${REQUEST_MS / 1_000} s.`);
  }

  /** A frame of the client. */
  receive(data: string | Uint8Array): void {
    if (this.#isRequested) this.#relay.fromClient(data);
    else this.#begin(data);
  }

  /** Whether the client should send no more for now. */
  get isAgentBehind(): boolean {
    return this.#relay.isAgentBehind;
  }

  closed(): void {
    this.#relay.clientClosed();
  }

  #begin(data: string | Uint8Array): void {
    this.#isRequested = true;
    this.#cancelWait();
    const wanted = typeof data === 'string' ? decodeRequest(this.#request.purpose, data) : undefined;
    if (!wanted) {
      this.#relay.end(`The first frame must be a request of the kind ${this.#request.purpose}.`);
      return;
    }
    this.#cancelWait = this.#endAfter(
      PERMIT_MS,
      `The control plane has not permitted the stream within ${PERMIT_MS / 1_000} s. Try again.`,
    );
    const { subscriber, serviceId, doer } = this.#request;
    const entry = { ...doer, ...streamDeed(wanted, this.#deps.rules.auditedCommandLength) };
    this.#leavePlacement = followStream(this.#deps, { subscriber, serviceId }, entry, {
      placed: async ({ at, generation }) => {
        const channels = at && (await this.#deps.channelsAt(at));
        // A client that has left meanwhile would leave its stream open at the agent.
        if (this.#isOver) return;
        this.#cancelWait();
        if (channels) this.#relay.begin(channels, { service: serviceId, generation }, targetOf(wanted));
        else this.#relay.end('The host has lost its connection. Try again.');
      },
      ended: ({ message }) => this.#relay.end(message),
    });
  }

  #endAfter(timeMs: number, reason: string): () => void {
    return this.#deps.clock.after(timeMs, () => this.#relay.end(reason));
  }

  #over(): void {
    this.#isOver = true;
    this.#cancelWait();
    this.#leavePlacement();
  }
}
