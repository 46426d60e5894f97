/** The frame of every page: head, navigation, notice and security headers. */
import type { Account } from '../../core/accounts/account.ts';
import { contentPolicy } from '../../http/files.ts';
import type { WebContext } from '../context.ts';
import { type Html, html } from './html.ts';
import { takeNotice } from './notice.ts';

export interface Page {
  title: string;
  body: Html;
  status?: number;
  /** Scripts of browser/ in addition to page.ts, by name: `logs` is browser/logs.ts. */
  scripts?: readonly string[];
  /** Styles in addition to berth.css, by name: `terminal` is styles/terminal.css. */
  styles?: readonly string[];
  headers?: Record<string, string>;
}

export const HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // The policy does not apply to styles that scripts set on elements.
  'content-security-policy': contentPolicy("'self'"),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

export async function page(
  c: WebContext,
  { title, body, status = 200, scripts = [], styles = [], headers }: Page,
): Promise<Response> {
  const eventId = c.get('lastEventId') as string | null | undefined;
  const text = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · Berth</title>
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
${['berth', ...styles].map((name) => html`<link rel="stylesheet" href="/assets/${name}.css">`)}
${['page', ...scripts].map((name) => html`<script type="module" src="/assets/${name}.js"></script>`)}
</head>
<body${eventId ? html` data-last-event-id="${eventId}"` : ''}>
<a class="skip" href="#main">Skip to content</a>
${header(c)}
<main id="main" tabindex="-1">
<p id="connection" class="notice failed" role="status" hidden></p>
<p id="unsent" class="notice failed" role="alert" hidden></p>
${notice(c)}
${body}
</main>
</body>
</html>
`;
  // Through the context, which may have cookies to set.
  return c.body(text.toString(), status as 200, { ...HEADERS, ...headers });
}

function notice(c: WebContext): Html | '' {
  const found = takeNotice(c);
  return found ? html`<p class="notice ${found.kind}" role="status">${found.text}</p>` : '';
}

function header(c: WebContext): Html {
  const account = c.get('account') as Account | undefined;
  return html`
<header class="top">
<a class="brand" href="/"><img src="/assets/icon.svg" alt="" width="28" height="28">Berth <span class="quiet" title="Name of this deployment">${c.get('deploymentName')}</span></a>
${account ? navigation(c.req.path, account) : ''}
</header>`;
}

/** Whether the role may see the pages of the cluster and of its hosts. */
export const seesCluster = ({ canSeeStatus, canChangeConfig }: Account['role']): boolean =>
  canSeeStatus || canChangeConfig;

/** Hides what the role does not allow; the operations also refuse it. */
function navigation(path: string, { user, role }: Account): Html {
  const links: [href: string, text: string, shown: boolean][] = [
    ['/executions', 'Executions', true],
    ['/start', 'New execution', true],
    ['/shop', 'App shop', true],
    ['/cluster', 'Cluster', seesCluster(role)],
    ['/admin', 'Administration', role.canChangeConfig],
    ['/guide', 'Guide', true],
  ];
  return html`
<button type="button" class="menu-button" popovertarget="navigation">Menu</button>
<nav id="navigation" aria-label="Main" popover>
<ul>
${links.filter(([, , shown]) => shown).map(([href, text]) => html`<li><a href="${href}"${current(path, href)}>${text}</a></li>`)}
</ul>
</nav>
<div class="who">
<a href="/account" title="Your account, ${user.username}"${current(path, '/account')}>${user.username}</a>
<form method="post" action="/logout"><button class="quiet">Log out</button></form>
</div>`;
}

const current = (path: string, href: string) =>
  path === href || path.startsWith(`${href}/`) ? html` aria-current="page"` : '';
