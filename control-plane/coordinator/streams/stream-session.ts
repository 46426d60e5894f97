/**
 * One client of a stream from its upgrade to its end: reads what it requests, obtains the permit, and joins
 * it with the agent. The same on Node and at a gateway.
 */
import { decodeRequest, targetOf } from '../../../shared/streams/client-messages.ts';
import { type AuditEntry, streamDeed } from '../../core/accounts/audit.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRules } from '../../core/model/stream-rules.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { StreamSubscriber } from '../../core/streams/stream-subscriber.ts';
import type { OpenStreams } from '../connections/open-streams.ts';
import type { Clock } from '../ports.ts';
import { linesOf } from './lines.ts';
import type { PermitLine } from './permit.ts';
import { type ClientSocket, StreamRelay } from './stream-relay.ts';

type Place = Extract<PermitLine, { key: unknown }>;

export interface StreamSessionDeps {
  clock: Pick<Clock, 'after' | 'monotonicMs'>;
  rules: StreamRules;
  /** StreamPermits.open, here or in another object. */
  permit(
    subscriber: StreamSubscriber,
    serviceId: number,
    entry: AuditEntry,
    id: string,
  ): Promise<ReadableStream<Uint8Array>>;
  /** StreamPermits.left, where the permit is. */
  left(id: string): Promise<void>;
  /** The streams of the agent's connection; undefined if it has ended. */
  streamsAt(place: Place): Promise<OpenStreams | undefined>;
}

/** How long a client may take to send its request. */
const REQUEST_MS = 10_000;
/** How long its permit may take. A call to another object may never be answered. */
const PERMIT_MS = 60_000;

export class StreamSession {
  readonly #deps: StreamSessionDeps;
  readonly #request: StreamRequest;
  readonly #relay: StreamRelay;
  /** The id of its permit. */
  readonly #id = crypto.randomUUID();
  #permit: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Where the permits are, one may have been given. */
  #mayHavePermit = false;
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
    this.#mayHavePermit = true;
    const open = async () => {
      const stream = await this.#deps.permit(subscriber, serviceId, entry, this.#id);
      this.#permit = stream.getReader();
      if (this.#isOver) return this.#leave();
      for await (const line of linesOf(this.#permit)) {
        if (line === '') continue;
        const news: PermitLine = JSON.parse(line);
        if ('ended' in news) return this.#relay.end(news.ended);
        const streams = await this.#deps.streamsAt(news);
        // A client that has left meanwhile would leave its stream open at the agent.
        if (this.#isOver) return;
        this.#cancelWait();
        if (streams) this.#relay.begin(streams, news.key, targetOf(wanted));
        else this.#relay.end('The host has lost its connection. Try again.');
      }
      this.#relay.end('The control plane has restarted. Try again.');
    };
    open().catch((error: unknown) => {
      const isKnown = error instanceof OperationError;
      if (isKnown) this.#mayHavePermit = false;
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
    void this.#permit?.cancel().catch(() => {});
    // Without it, the next heartbeat reveals the end.
    if (this.#mayHavePermit) void this.#deps.left(this.#id).catch(() => {});
  }
}
