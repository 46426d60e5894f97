/**
 * Streams of text made from other streams. They read only on demand, and cancel their source when they are
 * cancelled.
 */

/**
 * `texts` yields the text piece by piece. No piece may be empty: a stream that enqueued nothing when pulled
 * is not pulled again.
 */
export function textStream(
  source: ReadableStream<Uint8Array>,
  texts: (reader: ReadableStreamDefaultReader<Uint8Array>) => AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const pieces = texts(reader);
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        // There is no further read. If the source itself has failed, the cancellation has no effect.
        await reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
