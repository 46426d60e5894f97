/** Owns streams of text that are made of other streams: read only as they are read, and left when they are left. */

/**
 * `texts` makes the text, piece by piece, of what it reads. None may be empty: a stream that was pulled and given nothing
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
        // Nobody reads on. Where the source itself has failed there is nothing to leave.
        await reader.cancel(error).catch(() => {});
        throw error;
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
