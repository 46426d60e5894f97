/** What follows from the addresses of applications and BERTH_PUBLIC_URL together, and what must not be. */
import { type AppSites, readPathSite } from '../../core/apps/app-place.ts';
import { appAt, mayShareSite, readAppSite } from '../../core/apps/app-site.ts';

interface Config {
  BERTH_APPS_URL?: string | undefined;
  BERTH_APPS_PATHS?: string | undefined;
  BERTH_PUBLIC_URL?: string | undefined;
}

/** Where applications are, and where a browser logs in for them. */
export interface AppSettings extends AppSites {
  /** BERTH_PUBLIC_URL. */
  publicUrl: string;
  /** Whether browsers may take applications and Berth for one site. */
  sharesSite: boolean;
}

/** What the log records at the start if applications share Berth's site. */
export function sharedSite(settings: AppSettings) {
  const sharing = sharingOf(settings, settings.publicUrl);
  return {
    applications: sharing.map(({ name }) => name).join(', '),
    berth: new URL(settings.publicUrl).hostname,
    advice: `give ${sharing.map(({ setting }) => setting).join(' and ')} a domain of its own`,
  };
}

/** The settings whose names browsers may take for one site with Berth. */
function sharingOf({ site, paths }: AppSites, publicUrl: string): { setting: string; name: string }[] {
  const { hostname } = new URL(publicUrl);
  const all = [
    ...(site ? [{ setting: 'BERTH_APPS_URL', name: `*${site.suffix}` }] : []),
    ...(paths ? [{ setting: 'BERTH_APPS_PATHS', name: paths.hostname }] : []),
  ];
  return all.filter(({ name }) => mayShareSite(hostname, name.replace(/^\*\./, '')));
}

/** Problems of settings that belong together. */
export function appProblems(config: Config): string[] {
  const { BERTH_APPS_URL, BERTH_APPS_PATHS } = config;
  if (BERTH_APPS_URL === undefined && BERTH_APPS_PATHS === undefined) return [];
  const settings = appsOf(config);
  const setting = BERTH_APPS_URL === undefined ? 'BERTH_APPS_PATHS' : 'BERTH_APPS_URL';
  if (settings === undefined)
    return [
      `BERTH_PUBLIC_URL: must be set if ${setting} is: visitors of applications are sent there to log in`,
    ];
  const { site, publicUrl, sharesSite } = settings;
  const { protocol, host, hostname } = new URL(publicUrl);
  if (site && (appAt(site, host) !== undefined || appAt(site, hostname) !== undefined))
    return [
      'BERTH_PUBLIC_URL: must not be one of the names of BERTH_APPS_URL, where only applications answer',
    ];
  if (sharesSite && protocol !== 'https:')
    return [
      `BERTH_PUBLIC_URL: must be https, or have another domain than ${sharingOf(settings, publicUrl)[0]?.setting}: over http, an application below the same domain could replace the cookie of a session`,
    ];
  return [];
}

/** Undefined if applications have neither host names nor paths. */
export function appsOf({
  BERTH_APPS_URL,
  BERTH_APPS_PATHS,
  BERTH_PUBLIC_URL,
}: Config): AppSettings | undefined {
  const site = BERTH_APPS_URL === undefined ? undefined : readAppSite(BERTH_APPS_URL);
  const paths = BERTH_APPS_PATHS === undefined ? undefined : readPathSite(BERTH_APPS_PATHS);
  if ((!site && !paths) || (site && 'problem' in site) || BERTH_PUBLIC_URL === undefined) return undefined;
  const sharesSite = sharingOf({ site, paths }, BERTH_PUBLIC_URL).length > 0;
  return { site, paths, publicUrl: BERTH_PUBLIC_URL, sharesSite };
}
