/** Owns how files are served that are no part of the API: typed, never guessed at by browsers, asked for again by default. */

/** Reads a file by its name; rejects with the code ENOENT where there is none. Each host has them elsewhere. */
export type ReadFile = (name: string) => Promise<Bytes>;

export type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

/** The policy of a page: nothing of another host, nothing inline but small pictures; forms lead to `formAction`. */
export const contentPolicy = (formAction: "'self'" | "'none'"): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    `form-action ${formAction}`,
    "frame-ancestors 'none'",
  ].join('; ');

export const file = (body: string | Bytes, type: string, headers: Record<string, string> = {}) =>
  new Response(body, {
    headers: {
      'content-type': type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
  });
