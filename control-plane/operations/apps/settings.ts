/** What follows from BERTH_APPS_URL and BERTH_PUBLIC_URL together, and what must not be. */
import { type AppSite, appAt, mayShareSite, readAppSite } from '../../core/apps/app-site.ts';

interface Config {
  BERTH_APPS_URL?: string | undefined;
  BERTH_PUBLIC_URL?: string | undefined;
}

/** Where applications are, and where a browser logs in for them. */
export interface AppSettings {
  site: AppSite;
  /** BERTH_PUBLIC_URL. */
  publicUrl: string;
  /** Whether browsers may take applications and Berth for one site. */
  sharesSite: boolean;
}

/** What the log records at the start if applications share Berth's site. */
export const sharedSite = ({ site, publicUrl }: AppSettings) => ({
  applications: `*${site.suffix}`,
  berth: new URL(publicUrl).hostname,
  advice: 'give BERTH_APPS_URL a domain of its own',
});

/** Problems of settings that belong together. */
export function appProblems(config: Config): string[] {
  if (config.BERTH_APPS_URL === undefined) return [];
  const settings = appsOf(config);
  if (settings === undefined)
    return [
      'BERTH_PUBLIC_URL: must be set if BERTH_APPS_URL is: visitors of applications are sent there to log in',
    ];
  const { site, publicUrl, sharesSite } = settings;
  const { protocol, host, hostname } = new URL(publicUrl);
  if (appAt(site, host) !== undefined || appAt(site, hostname) !== undefined)
    return [
      'BERTH_PUBLIC_URL: must not be one of the names of BERTH_APPS_URL, where only applications answer',
    ];
  if (sharesSite && protocol !== 'https:')
    return [
      'BERTH_PUBLIC_URL: must be https, or have another domain than BERTH_APPS_URL: over http, an application below the same domain could replace the cookie of a session',
    ];
  return [];
}

/** Undefined if applications have no host names. */
export function appsOf({ BERTH_APPS_URL, BERTH_PUBLIC_URL }: Config): AppSettings | undefined {
  const site = BERTH_APPS_URL === undefined ? undefined : readAppSite(BERTH_APPS_URL);
  if (site === undefined || 'problem' in site || BERTH_PUBLIC_URL === undefined) return undefined;
  const { hostname } = new URL(BERTH_PUBLIC_URL);
  return { site, publicUrl: BERTH_PUBLIC_URL, sharesSite: mayShareSite(hostname, site.suffix.slice(1)) };
}
