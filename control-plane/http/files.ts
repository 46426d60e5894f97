/**
 * Serves files outside of the API with an explicit content type. By default browsers revalidate them and do
 * not sniff.
 */

/**
 * Reads a file by its name; rejects with the code ENOENT if it does not exist. Each host has its own
 * implementation.
 */
export type ReadFile = (name: string) => Promise<Bytes>;

/** True for a missing file. Any other error, such as a failed build, must reach the log. */
export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Ending of the names of files that are compressed with gzip. */
export const ZIPPED = '.gz';

export type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

/**
 * Content policy of a page: nothing from other hosts, and inline only small pictures. Forms may be sent to
 * `formAction`, which are sources of the policy.
 */
export const contentPolicy = (formAction: string): string =>
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
