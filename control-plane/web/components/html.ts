/** Owns the making of HTML: `html` escapes whatever is put in, but for other `html` and `trusted`. By Hono's templates. */
export { html, raw as trusted } from 'hono/html';

import type { HtmlEscapedString } from 'hono/utils/html';

/** Escaped already. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
