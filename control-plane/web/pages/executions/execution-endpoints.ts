/** The endpoints of an execution on its page: web applications through Berth, and what hosts publish. */

import { getsCookiesOf } from '../../../../shared/same-host.ts';
import {
  type AppAddresses,
  appAddress,
  pathAddress,
  sharedWithUsers,
} from '../../../core/apps/app-address.ts';
import { type ExecutionStatus, isEnded } from '../../../core/model/execution.ts';
import {
  type Endpoint,
  type ExecutionView,
  endpointsOf,
  type ServiceView,
} from '../../../core/views/execution-views.ts';
import { ownOrigin } from '../../../http/own-origin.ts';
import { type Html, html } from '../../components/html.ts';
import { redirectWith } from '../../components/notice.ts';
import { page } from '../../components/page.ts';
import type { WebContext } from '../../context.ts';

/** What the endpoints of an execution depend on. */
export interface Endpoints {
  execution: Pick<ExecutionView, 'id' | 'status' | 'userName'>;
  services: readonly ServiceView[];
  apps: AppAddresses;
  /** BERTH_PUBLIC_URL. */
  publicUrl: string | undefined;
}

export function endpoints(c: WebContext, { execution, services, apps, publicUrl }: Endpoints): Html | '' {
  const { id, status } = execution;
  const links = linksOf(services, status, apps);
  const row = (link: Link, at: number) => endpointRow(link, at, hrefOf(c, id, link, publicUrl));
  const expected = services.some(({ description }) => description.ports.length > 0);
  if (links.length === 0 && (!expected || status !== 'starting')) return '';
  const isShared = services.some(sharedWithUsers) && links.some(({ isApp }) => isApp);
  return html`
<section aria-labelledby="endpoints-title">
<h2 id="endpoints-title">Endpoints</h2>
${links.length > 0 ? html`<ul class="endpoints">${links.map(row)}</ul>` : html`<p class="quiet">Endpoints appear once the services are active.</p>`}
${isShared ? html`<p class="quiet">Everybody who is logged in may use the web applications.</p>` : ''}
</section>`;
}

interface Link {
  name: string;
  url: string;
  /** Through Berth. */
  isApp: boolean;
  /** Also reached through Berth. */
  isSecond: boolean;
}

/** Web applications have their address, which shows what they wait for, before they are active. */
function linksOf(
  services: readonly ServiceView[],
  status: ExecutionStatus,
  apps: AppAddresses,
): readonly Link[] {
  if (isEnded({ status }) || status === 'cleaning up') return linksTo(endpointsOf(services, apps));
  return services.flatMap((service) =>
    linksTo(service.status === 'active' ? endpointsOf([service], apps) : applicationsOf(service, apps)),
  );
}

const applicationsOf = ({ id, description }: ServiceView, apps: AppAddresses): Endpoint[] =>
  description.ports.map((port) => ({
    name: port.name,
    app: appAddress(apps, id, port),
    path: pathAddress(apps, id, port),
  }));

const linksTo = (found: readonly Endpoint[]): Link[] =>
  found.flatMap(({ name, app, path, published }) => {
    const through = [app, path].filter((url) => url !== undefined);
    return [
      ...through.map((url) => ({ name, url, isApp: true, isSecond: false })),
      ...(published === undefined
        ? []
        : [{ name, url: published, isApp: false, isSecond: through.length > 0 }]),
    ];
  });

function endpointRow({ name, url, isSecond }: Link, at: number, href: string): Html {
  const address = isWebAddress(url)
    ? html`<a id="endpoint-${at}" href="${href}" target="_blank" rel="noopener noreferrer">${url}</a>`
    : html`<code id="endpoint-${at}">${url}</code>`;
  return html`
<li><strong>${name}</strong>
${address}${isSecond ? html` <span class="quiet">on the host</span>` : ''}
<button type="button" class="quiet small scripted" data-copy="endpoint-${at}" aria-label="Copy the URL of ${name}${isSecond ? ' on the host' : ''}">Copy</button></li>`;
}

/** Only http and https addresses become links: other schemes could run code on a click. */
const isWebAddress = (url: string): boolean => /^https?:$/.test(URL.parse(url)?.protocol ?? '');

const hrefOf = (c: WebContext, id: number, link: Link, publicUrl: string | undefined): string =>
  getsCookies(c, link, publicUrl) ? `/executions/${id}/open?url=${encodeURIComponent(link.url)}` : link.url;

/**
 * Whether a browser sends Berth's cookies to the endpoint, because it is on Berth's own host (W230). Berth
 * itself keeps them from applications.
 */
function getsCookies(c: WebContext, { url, isApp }: Link, publicUrl: string | undefined): boolean {
  if (isApp || !isWebAddress(url)) return false;
  return [ownOrigin(c), publicUrl ?? ''].some((origin) => {
    const own = URL.parse(origin);
    return own !== null && getsCookiesOf(own, new URL(url));
  });
}

/** Warns before such an endpoint. No other address is opened, whatever the query has. */
export async function openingPage(c: WebContext, found: Endpoints): Promise<Response> {
  const { execution, services, apps, publicUrl } = found;
  const { id, status, userName } = execution;
  const url = c.req.query('url');
  const link = linksOf(services, status, apps).find((one) => !one.isApp && one.url === url);
  if (!link || !isWebAddress(link.url))
    return redirectWith(c, `/executions/${id}`, {
      kind: 'failed',
      text: 'The execution has no such endpoint now.',
    });
  if (!getsCookies(c, link, publicUrl)) return c.redirect(`/executions/${id}`, 303);
  return page(c, {
    title: `Open ${link.name}`,
    body: html`
<div class="card">
<h1>Give ${link.name} your session?</h1>
<p><code>${link.url}</code> is a port of the host on which Berth itself is. Your browser sends it the cookie of your session: what runs there can act as you in Berth, and log your browser in as somebody else.</p>
<p>Open it only if you trust ${userName} and the images of execution ${id} with that. Otherwise copy the address into a
private window, in which you are not logged in.</p>
<a class="button danger" href="${link.url}" target="_blank" rel="noopener noreferrer">Open all the same</a>
<a class="button" href="/executions/${id}">Cancel</a>
</div>`,
  });
}
