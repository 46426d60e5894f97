/** A fetch for requests to a provider: bounded in time and in the length of the answer. */

const MAX_MS = 5_000;
const MAX_BYTES = 512 * 1024;

interface Init {
  method: string;
  headers: Record<string, string>;
  body?: unknown;
  redirect: 'manual';
}

/** Rejects if the whole answer is not there within 5 s, or has more than 512 KiB. Follows no redirects. */
export async function boundedFetch(
  url: string,
  { method, headers, body, redirect }: Init,
  maxMs = MAX_MS,
): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers,
    redirect,
    signal: AbortSignal.timeout(maxMs),
    ...(body !== undefined && { body: body as URLSearchParams }),
  });
  const bytes = await readBytes(response);
  return new Response(bytes.byteLength > 0 ? bytes : null, response);
}

async function readBytes({ body }: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.byteLength;
    if (length > MAX_BYTES) throw new Error(`its answer has more than ${MAX_BYTES} bytes`);
    parts.push(part);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}
