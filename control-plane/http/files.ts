/** Owns how files are served that are no part of the API: typed, never guessed at by browsers, asked for again by default. */

/** Reads a file by its name; rejects with the code ENOENT where there is none. Each host has them elsewhere. */
export type ReadFile = (name: string) => Promise<Bytes>;

export type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

export const file = (body: string | Bytes, type: string, headers: Record<string, string> = {}) =>
  new Response(body, {
    headers: {
      'content-type': type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  });
