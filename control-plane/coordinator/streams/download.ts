/**
 * A file or an archive of a service as the body of an answer (H706, H707): a client of a stream, which reads
 * on only as far as its own reader does. The same on Node and in a Worker.
 */
import type { ServerMessage } from '../../../shared/streams/client-messages.ts';
import type { DownloadTarget } from '../../../shared/streams/targets.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import type { ClientEnd } from './client-end.ts';
import { StreamSession, type StreamSessionDeps } from './stream-session.ts';

/** Can be sent as JSON. */
export interface DownloadRequest {
  request: StreamRequest;
  target: DownloadTarget;
}

/** Resolves once the content begins, or the file is empty. Throws OperationError if there is no such file. */
export async function openDownload(
  { request, target }: DownloadRequest,
  deps: StreamSessionDeps,
): Promise<ReadableStream<Uint8Array>> {
  const download = new Download(request, deps);
  download.begin(target);
  await download.begun();
  return download.body();
}

class Download implements ClientEnd {
  readonly #session: StreamSession;
  /** Content, and marks that are returned once all before them was read. */
  readonly #arrivals: (Uint8Array | { mark: string })[] = [];
  #hasBegun = false;
  #isComplete = false;
  #problem: string | undefined;
  #changed = () => {};

  constructor(request: StreamRequest, deps: StreamSessionDeps) {
    this.#session = new StreamSession(this, request, deps);
  }

  begin(target: DownloadTarget): void {
    this.#session.begin({ type: 'files-out', ...target });
  }

  async begun(): Promise<void> {
    while (!this.#hasBegun && !this.#isComplete)
      if (this.#problem === undefined) await this.#change();
      else throw new OperationError('conflict', this.#problem);
  }

  body(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = await this.#next();
          if (next) controller.enqueue(next);
          else controller.close();
        },
        cancel: () => this.#session.closed(),
      },
      { highWaterMark: 0 },
    );
  }

  tell(message: ServerMessage): void {
    this.#take(message);
    this.#changed();
  }

  send(bytes: Uint8Array): void {
    this.#hasBegun = true;
    this.#arrivals.push(bytes);
    this.#changed();
  }

  close(): void {
    if (!this.#isComplete) this.#problem ??= 'The stream is over.';
    this.#changed();
  }

  /** Undefined at the end. Throws if the content is not whole, which breaks the answer off. */
  async #next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const next = this.#arrivals.shift();
      if (next && 'mark' in next) this.#session.receive({ type: 'read', mark: next.mark });
      else if (next) return next;
      else if (this.#isComplete) return undefined;
      else if (this.#problem !== undefined) throw new Error(this.#problem);
      else await this.#change();
    }
  }

  #take(message: ServerMessage): void {
    if (message.type === 'mark') this.#arrivals.push({ mark: message.mark });
    else if (message.type === 'reset') this.#problem ??= message.message;
    else if (message.type === 'end' && message.exit_code === 0) this.#isComplete = true;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#changed = resolve;
    });
  }
}
