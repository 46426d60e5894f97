/**
 * A file or an archive of a service as the body of an answer (H706, H707), which reads on only as far as its
 * own reader does. The same on Node and in a Worker.
 */
import type { DownloadTarget } from '../../../shared/streams/targets.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { StreamRequest } from '../../core/streams/stream-request.ts';
import { AgentPipe, BrokenPipe } from './agent-pipe.ts';
import { beginStream, type StreamSessionDeps } from './stream-session.ts';

/** Can be sent as JSON. */
export interface DownloadRequest {
  request: StreamRequest;
  target: DownloadTarget;
}

const NOT_WHOLE = 'The copy has ended before it was whole.';

/** Resolves once the content begins, or the file is empty. Throws OperationError if there is no such file. */
export async function openDownload(
  { request, target }: DownloadRequest,
  deps: StreamSessionDeps,
): Promise<ReadableStream<Uint8Array>> {
  const wanted = { type: 'files-out', ...target } as const;
  const pipe = beginStream(request, wanted, deps, (options) => new AgentPipe(options));
  await pipe.begun().catch((error: unknown) => {
    throw error instanceof BrokenPipe ? new OperationError('conflict', error.message) : error;
  });
  if (pipe.isDrained && pipe.exitCode !== 0) throw new OperationError('conflict', NOT_WHOLE);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await pipe.read();
        if (bytes) controller.enqueue(bytes);
        else if (pipe.exitCode === 0) controller.close();
        // The answer is broken off, since the content is not whole.
        else throw new Error(NOT_WHOLE);
      },
      cancel: () => pipe.close(),
    },
    { highWaterMark: 0 },
  );
}
