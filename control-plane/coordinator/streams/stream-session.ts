/**
 * One client of a stream from its upgrade to its end: reads what it requests, obtains its placement, and
 * joins it with the agent. The same on Node and at a gateway.
 */
import { decodeRequest, targetOf } from '../../../shared/streams/client-messages.ts';
import { streamDeed } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ChannelPort } from '../connections/open-channels.ts';
import type { Clock } from '../ports.ts';
import { type ChannelAddress, placementLines } from './placement.ts';
import type { PlacementSource } from './placements.ts';
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
  /** The id of its placement. */
  readonly #id = crypto.randomUUID();
  #placement: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Where the placements are, one may have been given. */
  #mayHavePlacement = false;
  #isRequested = false;
  #isOver = false;
  #cancelWait: () => void;

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
    this.#mayHavePlacement = true;
    const open = async () => {
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
    };
    open().catch((error: unknown) => {
      const isKnown = error instanceof OperationError;
      if (isKnown) this.#mayHavePlacement = false;
      this.#relay.end(isKnown ? error.message : 'The control plane can not open the stream. Try again.');
    });
  }

  #endAfter(timeMs: number, reason: string): () => void {
    return this.#deps.clock.after(timeMs, () => this.#relay.end(reason));
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
