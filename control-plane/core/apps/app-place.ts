/**
 * Where a browser reaches a web application: at a host name of its own, or at a path of the origin that all
 * of those share which serve under a path. Pure.
 */
import { appKey, type PathApp } from './app-address.ts';
import { APP_COOKIE, VISIT_COOKIE } from './app-cookies.ts';
import { type AppName, type AppSite, appAt, appHostOf, appOriginOf } from './app-site.ts';

/** BERTH_APPS_PATHS, taken apart. */
export interface PathSite {
  scheme: 'http' | 'https';
  hostname: string;
  /** As the browser writes it: with the port if it is not the default one. */
  host: string;
  origin: string;
}

/** Where the applications of this deployment are. */
export interface AppSites {
  /** Undefined: none has a host name. */
  site?: AppSite | undefined;
  /** Undefined: none has a path. */
  paths?: PathSite | undefined;
}

export interface AppPlace {
  name: AppName;
  scheme: 'http' | 'https';
  host: string;
  origin: string;
  /** What each path of the application begins with, such as `/<key>`. Empty at a host name of its own. */
  prefix: string;
  /** Names of Berth's cookies there. */
  cookies: { pass: string; visit: string };
}

/** `origin`: of BERTH_APPS_PATHS, in the form that the settings have checked. */
export function readPathSite(origin: string): PathSite {
  const { protocol, hostname, host, origin: written } = new URL(origin);
  return { scheme: protocol === 'https:' ? 'https' : 'http', hostname, host, origin: written };
}

/**
 * What a host names: an application, the origin of paths, null for a name of applications that has none, and
 * undefined for any other, which is Berth's own.
 */
export function namedBy({ site, paths }: AppSites, host: string): AppName | 'paths' | null | undefined {
  if (paths) {
    const [, name = '', port = ''] = /^(.*?)(?::(\d*))?$/.exec(host.toLowerCase()) ?? [];
    if (name.replace(/\.+$/, '') === paths.hostname) {
      const standard = paths.scheme === 'https' ? '443' : '80';
      const written = port === '' || port === standard ? name : `${name}:${port}`;
      return written === paths.host ? 'paths' : null;
    }
  }
  return site && appAt(site, host);
}

export const placeAtHost = (site: AppSite, name: AppName): AppPlace => ({
  name,
  scheme: site.scheme,
  host: appHostOf(site, name),
  origin: appOriginOf(site, name),
  prefix: '',
  cookies: { pass: APP_COOKIE, visit: VISIT_COOKIE },
});

/**
 * The names of the cookies contain the proof. An application beside this one can set cookies for every path,
 * but none with a name that it can't guess.
 */
export const placeAtPath = ({ scheme, host, origin }: PathSite, app: PathApp): AppPlace => {
  const { serviceId, port, proof } = app;
  return {
    name: { port, serviceId },
    scheme,
    host,
    origin,
    prefix: `/${appKey({ service: serviceId, port }, proof)}`,
    cookies: { pass: `__Secure-berth_app_${proof}`, visit: `__Secure-berth_visit_${proof}` },
  };
};

/** `<port>-<service id>`, or the key of the path. */
export const nameOfPlace = ({ name: { port, serviceId }, prefix }: AppPlace): string =>
  prefix === '' ? `${port}-${serviceId}` : prefix.slice(1);

/** What tickets and passes are for. No two places have the same. */
export const idOfPlace = ({ host, prefix }: AppPlace): string => host + prefix;

/** Stands for the origin of any place. */
const HERE = 'http://here';

/** The path as browsers write it, if it is one of the place; else the place's first page. */
export const pathAt = ({ prefix }: AppPlace, path: string): string => {
  const { origin, pathname, search, hash } = new URL(URL.canParse(path, HERE) ? path : '/', HERE);
  // Two slashes at its beginning would name another host.
  const isThere = origin === HERE && pathname.startsWith(`${prefix}/`) && !pathname.startsWith('//');
  return isThere ? pathname + search + hash : `${prefix}/`;
};
