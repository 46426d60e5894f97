/**
 * A stream from its request to its end: obtains its placement, and joins the client with the agent. The same
 * on Node and at a gateway.
 */
import { type StreamOpening, targetOf } from '../../../shared/streams/client-messages.ts';
import { streamDeed } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import type { ClientEnd, ClientLink, FromClient } from './client-end.ts';
import { type ChannelAddress, placementLines } from './placement.ts';
import type { PlacementSource } from './placements.ts';
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
  /** The id of its placement. */
  readonly #id = crypto.randomUUID();
  #placement: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Where the placements are, one may have been given. */
  #mayHavePlacement = true;
  #isOver = false;
  #cancelWait = () => {};

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
    this.#open(wanted).catch((error: unknown) => {
      const isKnown = error instanceof OperationError;
      if (isKnown) this.#mayHavePlacement = false;
      this.#relay.end(isKnown ? error.message : 'The control plane can not open the stream. Try again.');
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

  async #open(wanted: StreamOpening): Promise<void> {
    const { subscriber, serviceId, doer } = this.#request;
    const entry = { ...doer, ...streamDeed(wanted, this.#deps.rules.auditedCommandLength) };
    const stream = await this.#deps.place({
      subscriber,
      serviceId,
      id: this.#id,
      for: { kind: 'stream', entry },
    });
    this.#placement = stream.getReader();
    if (this.#isOver) return this.#leave();
    for await (const line of placementLines(this.#placement)) {
      if (!line) continue;
      if ('ended' in line) return this.#relay.end(line.ended);
      const channels = line.at && (await this.#deps.channelsAt(line.at));
      // A client that has left meanwhile would leave its stream open at the agent.
      if (this.#isOver) return;
      this.#cancelWait();
      const key = { service: serviceId, generation: line.generation };
      if (channels) this.#relay.begin(channels, key, targetOf(wanted));
      else this.#relay.end('The host has lost its connection. Try again.');
    }
    this.#relay.end('The control plane has restarted. Try again.');
  }

  #over(): void {
    this.#isOver = true;
    this.#cancelWait();
    this.#leave();
  }

  #leave(): void {
    void this.#placement?.cancel().catch(() => {});
    // Without it, the next heartbeat reveals the end.
    if (this.#mayHavePlacement) void this.#deps.left(this.#id).catch(() => {});
  }
}
