/**
 * Berth's own answers at the host names of web applications: a page for people, JSON for programs. The pages
 * load nothing and run nothing.
 */
import { html, raw } from 'hono/html';

export interface AppAnswer {
  status: number;
  title: string;
  sentences: readonly string[];
  /** Absent: the page does not go on by itself. */
  refreshS?: number;
  /** When a program should try again. */
  retryS?: number | undefined;
  link?: { href: string; text: string };
  /** Further fields for programs. */
  fields?: Readonly<Record<string, string>>;
}

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  color: #17212b; background: #f5f7f9; }
main { max-width: 40rem; margin: 4rem auto; padding: 1.5rem; background: #fff; border: 1px solid #d8dfe5; border-radius: 8px; }
h1 { font-size: 1.3rem; margin: 0 0 1rem; } p { margin: 0.5rem 0; overflow-wrap: anywhere; } .quiet { color: #55636f; }
a { color: #0b6e99; }
@media (prefers-color-scheme: dark) { :root { color: #e4eaf0; background: #11171d; }
  main { background: #1a222a; border-color: #303b46; } .quiet { color: #9dabb8; } a { color: #6cc4e8; } }
`;

export async function appAnswer(answer: AppAnswer, isPage: boolean): Promise<Response> {
  const { status, sentences, refreshS, retryS, fields } = answer;
  const headers = new Headers({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'origin-agent-cluster': '?1',
    ...(retryS !== undefined && { 'retry-after': String(retryS) }),
  });
  if (!isPage) {
    headers.set('content-type', 'application/json; charset=utf-8');
    return new Response(JSON.stringify({ message: sentences.join(' '), ...fields }), { status, headers });
  }
  const nonce = crypto.randomUUID();
  headers.set('content-type', 'text/html; charset=utf-8');
  headers.set(
    'content-security-policy',
    `default-src 'none'; style-src 'nonce-${nonce}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  if (refreshS !== undefined) headers.set('refresh', String(refreshS));
  return new Response(await pageOf(answer, nonce), { status, headers });
}

const pageOf = async ({ title, sentences, refreshS, link }: AppAnswer, nonce: string): Promise<string> =>
  String(
    await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Berth</title>
<style nonce="${nonce}">${raw(STYLE)}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
${link ? html`<p><a href="${link.href}">${link.text}</a></p>` : ''}
${refreshS === undefined ? '' : html`<p class="quiet" role="status">This page goes on by itself.</p>`}
</main>
</body>
</html>
`,
  );

export const UNKNOWN: AppAnswer = {
  status: 404,
  title: 'Not found',
  sentences: ['There is no such application.'],
};
export const NOTHING_HERE: AppAnswer = {
  status: 404,
  title: 'Not found',
  sentences: ['There is nothing here.'],
};
export const FOREIGN: AppAnswer = {
  status: 403,
  title: 'Not allowed',
  sentences: ['The request comes from another application or another site.'],
};
export const NO_WORKER: AppAnswer = {
  status: 403,
  title: 'Not allowed',
  sentences: ['Applications in Berth have no service workers: they would outlive the session.'],
};
export const ENDED: AppAnswer = {
  status: 410,
  title: 'The application has ended',
  sentences: ['Its execution has ended, so it does not come back at this address.'],
};
