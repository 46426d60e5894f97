/** Parses the engine's streams of JSON lines. */

/** Yields each line's value, which must have the type `T`. Ends when the stream ends or is destroyed. */
export async function* jsonLines<T>(stream: NodeJS.ReadableStream): AsyncGenerator<T> {
  let rest = '';
  stream.setEncoding('utf8');
  for await (const chunk of stream) {
    const lines = (rest + chunk.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as T;
  }
  if (rest.trim() !== '') yield JSON.parse(rest) as T;
}
