/**
 * Whether a request to a web application comes from its own pages. The cookie alone does not show that:
 * applications below one parent are one site for browsers, which send SameSite cookies between them. Pure.
 */

export interface FetchFacts {
  method: string;
  isUpgrade: boolean;
  /** Headers of the request: Sec-Fetch-Site, Sec-Fetch-Mode, Sec-Fetch-Dest, Origin and Accept. */
  site: string | undefined;
  mode: string | undefined;
  dest: string | undefined;
  origin: string | undefined;
  accept: string | undefined;
}

/** True if another application or another site has caused the request, except for links to a page. */
export function isForeign(facts: FetchFacts, ownOrigin: string): boolean {
  const { site, origin, isUpgrade } = facts;
  // Browsers send Origin with every WebSocket, some of them without Sec-Fetch-Site.
  if (isUpgrade && origin !== undefined && origin !== ownOrigin) return true;
  if (site === undefined) return origin !== undefined && origin !== ownOrigin;
  return site !== 'same-origin' && site !== 'none' && !isPageVisit(facts);
}

/** True if the browser opens the answer as a page of its own, not within another page. */
export function isPageVisit({ method, isUpgrade, mode, dest, accept }: FetchFacts): boolean {
  if (method !== 'GET' || isUpgrade) return false;
  if (mode === undefined) return (accept ?? '').includes('text/html');
  return mode === 'navigate' && (dest === undefined || dest === 'document');
}
