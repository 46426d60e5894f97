/** The addresses of web applications, as the settings describe them. */
import { type AppSites, readPathSite } from '../../core/apps/app-place.ts';
import { type AppSite, appAt, mayShareSite, readAppSite } from '../../core/apps/app-site.ts';
import type { AppPlaces } from '../context.ts';

const HOST = '[a-z0-9-]+(\\.[a-z0-9-]+)*';
/** Where each application has a path. */
export const ORIGIN = new RegExp(`^https?://${HOST}(:\\d{1,5})?/?$`);

export const isEncrypted = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/([^/]*\.)?localhost(:\d+)?\/?$/.test(url);
export const NOT_ENCRYPTED = 'must begin with https, except for names beneath localhost';

/** The settings of applications, as control-plane/settings.ts has checked them. */
interface Config {
  BERTH_APPS_URL?: string | undefined;
  BERTH_APPS_PATHS?: string | undefined;
  BERTH_PUBLIC_URL?: string | undefined;
  BERTH_HOST?: string;
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
export const appProblems = (config: Config): string[] => [...pathProblems(config), ...publicProblems(config)];

/**
 * Applications with a path are all of one origin, so that this must never be that of Berth, whose pages and
 * cookies they could then use, nor one of those that belong to a single application.
 */
function pathProblems(config: Config): string[] {
  const { BERTH_APPS_URL: hosts, BERTH_APPS_PATHS: paths, BERTH_PUBLIC_URL: own, BERTH_HOST } = config;
  if (paths === undefined) return [];
  const { hostname } = new URL(paths);
  // At an address in digits too, pages would have the cookies of every port there.
  const isOwn = own !== undefined && new URL(own).hostname === hostname;
  if (isOwn || hostname === BERTH_HOST || hostname === 'localhost' || /^[\d.]+$/.test(hostname))
    return [
      `BERTH_APPS_PATHS: must have another host name than Berth, not ${hostname}: a browser would let applications ` +
        'act as the page of Berth, with the cookies of its users',
    ];
  if (hosts !== undefined && hostname.replace(/^[^.]*/, '*') === new URL(hosts).hostname)
    return [
      'BERTH_APPS_PATHS: must not be one of the host names of BERTH_APPS_URL, which belong to one application each',
    ];
  return [];
}

function publicProblems(config: Config): string[] {
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
  const site = siteOf(BERTH_APPS_URL);
  const paths = BERTH_APPS_PATHS === undefined ? undefined : readPathSite(BERTH_APPS_PATHS);
  if ((!site && !paths) || BERTH_PUBLIC_URL === undefined) return undefined;
  const sharesSite = sharingOf({ site, paths }, BERTH_PUBLIC_URL).length > 0;
  return { site, paths, publicUrl: BERTH_PUBLIC_URL, sharesSite };
}

/** What the addresses of applications are made of. */
export const appPlacesOf = (config: Config, proofOf: AppPlaces['proofOf']): AppPlaces => ({
  hosts: siteOf(config.BERTH_APPS_URL),
  paths: config.BERTH_APPS_PATHS,
  proofOf,
});

/** Undefined also for a setting that is not valid, which `appsSettings` reports. */
function siteOf(setting: string | undefined): AppSite | undefined {
  const site = setting === undefined ? undefined : readAppSite(setting);
  return site && 'problem' in site ? undefined : site;
}
