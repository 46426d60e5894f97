/** The streams of a control plane or a gateway that can be resumed: how many, and by whom (H835, H836). */
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import { ResumableStream } from './resumable-stream.ts';
import type { StreamSessionDeps } from './stream-session.ts';

/** Each may keep a window of output, also for a time after it has ended. A gateway has 128 MB in all. */
export const MAX_RESUMABLE = { node: 256, gateway: 64 } as const;
export const MAX_RESUMABLE_OF_USER = 16;

export class ResumableStreams {
  readonly #streams = new Map<string, ResumableStream>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Undefined if there are as many as there may be. */
  add(request: StreamRequest, deps: StreamSessionDeps): ResumableStream | undefined {
    const { userId } = request.subscriber;
    const all = [...this.#streams.values()];
    const own = all.filter((one) => one.request.subscriber.userId === userId);
    if (all.length >= this.#max || own.length >= MAX_RESUMABLE_OF_USER) return undefined;
    const stream = new ResumableStream(request, deps, () => this.#streams.delete(stream.id));
    this.#streams.set(stream.id, stream);
    return stream;
  }

  /** The stream of that id, if the request is of the same user and credential, and to the same service. */
  find(id: string, request: StreamRequest): ResumableStream | undefined {
    const stream = this.#streams.get(id);
    return stream && keyOf(stream.request) === keyOf(request) ? stream : undefined;
  }
}

const keyOf = ({ subscriber, serviceId }: StreamRequest): string => JSON.stringify([subscriber, serviceId]);
