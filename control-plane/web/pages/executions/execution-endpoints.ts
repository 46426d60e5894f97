/** The endpoints of an execution on its page: web applications through Berth, and what hosts publish. */
import {
  type AppAddresses,
  appAddress,
  pathAddress,
  sharedWithUsers,
} from '../../../core/apps/app-address.ts';
import { type ExecutionStatus, isEnded } from '../../../core/model/execution.ts';
import { type Endpoint, endpointsOf, type ServiceView } from '../../../core/views/execution-views.ts';
import { type Html, html } from '../../components/html.ts';

export function endpoints(
  services: readonly ServiceView[],
  status: ExecutionStatus,
  apps: AppAddresses,
): Html | '' {
  const links = linksOf(services, status, apps);
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

function row({ name, url, isSecond }: Link, at: number): Html {
  const address = isWebAddress(url)
    ? html`<a id="endpoint-${at}" href="${url}" target="_blank" rel="noopener noreferrer">${url}</a>`
    : html`<code id="endpoint-${at}">${url}</code>`;
  return html`
<li><strong>${name}</strong>
${address}${isSecond ? html` <span class="quiet">on the host</span>` : ''}
<button type="button" class="quiet small scripted" data-copy="endpoint-${at}" aria-label="Copy the URL of ${name}${isSecond ? ' on the host' : ''}">Copy</button></li>`;
}

/** Only http and https addresses become links: other schemes could run code on a click. */
export const isWebAddress = (url: string): boolean => /^https?:$/.test(URL.parse(url)?.protocol ?? '');
