/** The choice among the services of an execution, where a page shows as many as one request may read. */
import { MAX_SERVICES } from '../../http/api/execution-logs.ts';
import { type Html, html } from './html.ts';

export interface ServiceChoice {
  services: readonly { id: number; name: string }[];
  /** The id of the chosen one, as in the URL; empty: all, or the first of them. */
  chosen: string;
  /**
   * Whether the script of the page follows the choice at once. Then a button is there without script only.
   */
  isFollowed: boolean;
}

/** Nothing if there is no choice. */
export const serviceChoice = ({ services, chosen, isFollowed }: ServiceChoice): Html | '' =>
  services.length <= 1
    ? ''
    : html`
<form method="get">
<label>Service <select name="service" id="service-choice">
<option value="">${services.length > MAX_SERVICES ? `First ${MAX_SERVICES} of ${services.length}` : 'All services'}</option>
${services.map(({ id, name }) => html`<option value="${id}"${String(id) === chosen ? html` selected` : ''}>${name}</option>`)}
</select></label>
${isFollowed ? html`<noscript><button>Show</button></noscript>` : html`<button>Show</button>`}
</form>`;
