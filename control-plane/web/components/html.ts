/** HTML templates by Hono: `html` escapes every inserted value except other `html` and `trusted`. */
export { html, raw as trusted } from 'hono/html';

import type { HtmlEscapedString } from 'hono/utils/html';

/** HTML that is already escaped. */
export type Html = HtmlEscapedString | Promise<HtmlEscapedString>;
