/**
 * A stream from its request to its end: obtains its placement, and joins the client with the agent. The same
 * on Node and at a gateway.
 */
import { type StreamOpening, targetOf } from '../../../shared/streams/client-messages.ts';
import { streamDeed } from '../../core/accounts/audit.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import type { ClientEnd, ClientLink, FromClient } from './client-end.ts';
import type { ChannelAddress } from './placement.ts';
import type { PlacementSource } from './placements.ts';
import { followStream } from './stream-placement.ts';
import { StreamRelay } from './stream-relay.ts';

export interface StreamSessionDeps extends PlacementSource {
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  rules: StreamRules;
  /** The channels of the agent's connection; undefined if it has ended. */
  channelsAt(at: ChannelAddress): Promise<ChannelPort | undefined>;
}

/** How long its placement may take. A call to another object may never be answered. */
const PERMIT_MS = 60_000;

export class StreamSession implements ClientLink {
  readonly #deps: StreamSessionDeps;
  readonly #request: StreamRequest;
  readonly #relay: StreamRelay;
  #isOver = false;
  #cancelWait = () => {};
  #leavePlacement = () => {};

  constructor(client: ClientEnd, request: StreamRequest, deps: StreamSessionDeps) {
    this.#deps = deps;
    this.#request = request;
    this.#relay = new StreamRelay({ client, clock: deps.clock, times: deps.rules, over: () => this.#over() });
  }

  /** Must be called once, and first. */
  begin(wanted: StreamOpening): void {
    this.#cancelWait = this.#deps.clock.after(PERMIT_MS, () =>
      this.#relay.end(
        `The control plane has not permitted the stream within ${PERMIT_MS / 1_000} s. Try again.`,
      ),
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

  receive(frame: FromClient): void {
    this.#relay.fromClient(frame);
  }

  /** Whether the client should send no more for now. */
  get isAgentBehind(): boolean {
    return this.#relay.isAgentBehind;
  }

  /** The client has left. */
  closed(): void {
    this.#relay.clientClosed();
  }

  #over(): void {
    this.#isOver = true;
    this.#cancelWait();
    this.#leavePlacement();
  }
}
