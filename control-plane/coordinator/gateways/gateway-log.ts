/**
 * One start's output on its way from an agent to a reader, at the gateway: frames, and a note at the end.
 * A reader that stalls costs at most one window of memory (P9).
 */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { LogChunk } from '../../../shared/protocol/codec.ts';
import type { LogFormat, LogPart } from '../../../shared/protocol/down.ts';
import type { Up } from '../../../shared/protocol/up.ts';
import { encodeFrame, encodeNote, heartbeat, type LogNote } from '../../../shared/streams/log-frames.ts';
import { smallestGrant } from '../../core/streams/log-windows.ts';
import type { AgentConnection } from '../connections/agent-connection.ts';
import type { LogSink } from '../connections/open-logs.ts';
import type { Clock } from '../ports.ts';

type LogEnd = Extract<Up, { type: 'logs.end' }>;

/** On workerd, only output reveals that a reader has left. */
const HEARTBEAT_MS = 60_000;

export class GatewayLog implements LogSink {
  readonly stream: ReadableStream<Uint8Array>;
  readonly #connection: AgentConnection;
  readonly #key: ServiceKey;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #number: number;
  readonly #window: number;
  readonly #done: () => void;
  #controller: ReadableByteStreamController | undefined;
  #cancelHeartbeat = () => {};
  /** Bytes granted to the agent and not yet received. */
  #outstanding: number;

  /**
   * Holds at most `window` bytes that were not read. `done` is called once, when the stream has ended or its
   * reader has left.
   */
  constructor(
    connection: AgentConnection,
    key: ServiceKey,
    offset: number,
    format: LogFormat,
    clock: Pick<Clock, 'after'>,
    window: number,
    done: () => void,
    part: LogPart = {},
  ) {
    this.#window = window;
    this.#outstanding = window;
    this.#done = done;
    this.#connection = connection;
    this.#key = key;
    this.#clock = clock;
    // workerd passes only byte streams from a Durable Object to a Worker.
    this.stream = new ReadableStream(
      {
        type: 'bytes',
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#grant(),
        cancel: () => this.#leave(),
      },
      { highWaterMark: window },
    );
    this.#number = connection.openLog(key, offset, this.#outstanding, format, this, part);
    this.#beat();
  }

  chunk({ payload, next }: LogChunk): boolean {
    if (!this.#controller) return true;
    if (payload.byteLength > this.#outstanding) return false;
    this.#outstanding -= payload.byteLength;
    const { service, generation } = this.#key;
    if (payload.byteLength > 0)
      this.#controller.enqueue(encodeFrame({ service, position: { generation, offset: next }, payload }));
    return true;
  }

  grantRest(): void {
    this.#grant(1);
  }

  end({ reason, message = 'the host could not read the log' }: LogEnd): void {
    const notes: Record<LogEnd['reason'], LogNote> = {
      exited: { ended: true },
      missing: { missing: this.#key.generation },
      failed: { trouble: message },
    };
    const controller = this.#controller;
    this.#finish();
    controller?.enqueue(encodeNote(this.#key.service, notes[reason]));
    controller?.close();
    // A byte stream with a pending read closes only after that read is answered.
    controller?.byobRequest?.respond(0);
  }

  detached(): void {
    const controller = this.#controller;
    this.#finish();
    controller?.error(new Error('the connection of the host has ended'));
  }

  #grant(leastBytes = smallestGrant(this.#window)): void {
    const credit = (this.#controller?.desiredSize ?? 0) - this.#outstanding;
    if (credit < leastBytes) return;
    this.#outstanding += credit;
    this.#connection.grant(this.#number, credit);
  }

  /** The reader has left, which its stream may not know. */
  close(): void {
    const controller = this.#controller;
    this.#leave();
    controller?.error(new Error('the reader has left'));
  }

  #leave(): void {
    if (!this.#controller) return;
    this.#connection.closeLog(this.#number, this.#outstanding);
    this.#finish();
  }

  #beat(): void {
    this.#cancelHeartbeat = this.#clock.after(HEARTBEAT_MS, () => {
      if ((this.#controller?.desiredSize ?? 0) > 0) this.#controller?.enqueue(heartbeat());
      if (this.#controller) this.#beat();
    });
  }

  #finish(): void {
    if (!this.#controller) return;
    this.#controller = undefined;
    this.#cancelHeartbeat();
    this.#done();
  }
}
