/** Frame reader for tests of the coordinator: the received event frames, and whether the stream has ended. */
import type { EventFrame, EventSubscriber } from '../../../control-plane/core/streams/events.ts';
import { eventually } from '../tools/eventually.ts';

/** User 1 with permission for every event. */
export const everything: EventSubscriber = {
  userId: 1,
  credentialVersion: 1,
  seesOthers: true,
  seesHosts: true,
  lastEventId: null,
};

export class FrameReader {
  readonly frames: EventFrame[] = [];
  ended = false;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  constructor(stream: ReadableStream<Uint8Array>) {
    this.#reader = stream.getReader();
    void this.#read();
  }

  get lastId(): string {
    return this.frames.at(-1)?.id ?? '';
  }

  /**
   * Short forms of the received events: `hello`, `execution 1 queued`, `service 2 active`, `host 1 ready`.
   */
  get received(): string[] {
    return this.frames.map(({ event }) => {
      if (event.kind === 'host') return `host ${event.id} ${event.state}`;
      return 'status' in event ? `${event.kind} ${event.id} ${event.status}` : event.kind;
    });
  }

  async until(event: string): Promise<void> {
    await eventually(() => this.received.includes(event));
  }

  leave(): Promise<void> {
    return this.#reader.cancel();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = '';
    for (let part = await this.#reader.read(); !part.done; part = await this.#reader.read()) {
      const lines = (rest + decoder.decode(part.value, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.frames.push(JSON.parse(line));
    }
    this.ended = true;
  }
}
