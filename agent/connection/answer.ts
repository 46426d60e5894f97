/** Reads an answer of the control plane to a request of the agent. */

/** Throws if the answer has more bytes: it is not one of a control plane. The connection then ends. */
export async function answerText(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.byteLength;
    if (bytes > maxBytes) throw new Error(`its answer exceeds ${maxBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** Undefined if the text is not JSON. */
export function answerJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
