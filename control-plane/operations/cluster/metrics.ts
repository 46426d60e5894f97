/** Use case of a scrape: who may read the metrics of the cluster, and what there is without a coordinator. */
import { hash, timingSafeEqual } from 'node:crypto';
import { type Actor, authorise } from '../../core/accounts/account.ts';
import { activeFamily } from '../../core/metrics/cluster-families.ts';
import type { Family } from '../../core/metrics/family.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { Context } from '../context.ts';

/** Who may scrape: anybody, the holder of a token, or administrators. */
export type ScrapeAccess = { by: 'anyone' } | { by: 'token'; token: string } | { by: 'account' };

/** Access as the setting has it, which may be a token; undefined if there are no metrics. */
export function scrapeAccessOf({
  BERTH_METRICS: setting,
}: {
  BERTH_METRICS?: string | undefined;
}): ScrapeAccess | undefined {
  if (setting === 'off') return undefined;
  if (setting === 'open') return { by: 'anyone' };
  return setting === undefined ? { by: 'account' } : { by: 'token', token: setting };
}

export interface Scraper {
  bearer: string | undefined;
  /** Without `account` access, nobody is authenticated. */
  actor: Actor;
}

/** `maxHosts`: how many hosts have metrics of their own. */
export async function scrape(
  { coordinator }: Context,
  scraper: Scraper,
  { access, maxHosts }: { access: ScrapeAccess; maxHosts: number },
): Promise<Family[]> {
  authoriseScrape(scraper, access);
  try {
    return await coordinator.metrics(maxHosts);
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    // The process has metrics of its own, and that the coordinator has none is one, too.
    return [activeFamily(false)];
  }
}

function authoriseScrape({ bearer, actor }: Scraper, access: ScrapeAccess): void {
  if (access.by === 'anyone') return;
  if (access.by === 'account') return void authorise(actor, { kind: 'see-configuration' });
  if (bearer === undefined || !isEqual(bearer, access.token))
    throw new OperationError('bad-token', 'Send the token of BERTH_METRICS: Authorization: Bearer <token>.');
}

/** Takes as long for every `given` of the same length. */
const isEqual = (given: string, right: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', right, 'buffer'));
