/** Reads an archive that comes in chunks. */

/** TarReader or TreeReader. */
interface Reader<T> {
  push(chunk: Uint8Array): Iterable<T>;
  end(): void;
}

/** Takes a chunk once the items of those before are taken. */
export async function* itemsOf<T>(reader: Reader<T>, chunks: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  for await (const chunk of chunks) yield* reader.push(chunk);
  reader.end();
}
