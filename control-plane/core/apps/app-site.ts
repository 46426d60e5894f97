/**
 * Host names of web applications, `<port>-<service id>` below one parent, and which of them share a site with
 * Berth. Pure.
 */

/** Where the applications of this deployment are: BERTH_APPS_URL, taken apart. */
export interface AppSite {
  scheme: 'http' | 'https';
  /** What every name ends with, such as `.apps.example.org`. */
  suffix: string;
  /** As the browser writes it: '' for the default port of the scheme. */
  port: string;
}

/** A port of a service. */
export interface AppName {
  port: number;
  serviceId: number;
}

const SETTING = /^(https?):\/\/\*((?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+)(?::(\d{1,5}))?\/?$/;
const NAME = /^([1-9]\d{0,4})-([1-9]\d{0,14})$/;
const MAX_PORT = 65_535;
/** A host name has at most 253 characters, of which the longest name of an application takes 21. */
const MAX_SUFFIX_LENGTH = 232;
const DEFAULT_PORTS = { http: '80', https: '443' } as const;

/** Parses BERTH_APPS_URL. A problem is a text that completes "BERTH_APPS_URL: ". */
export function readAppSite(text: string): AppSite | { problem: string } {
  const [, scheme, suffix = '', port = ''] = SETTING.exec(text) ?? [];
  if (scheme !== 'http' && scheme !== 'https')
    return {
      problem:
        'must be an address with * as its first label and without a path, in lower case, like https://*.apps.example.org',
    };
  const isLocal = suffix.endsWith('.localhost');
  if (scheme === 'http' && !isLocal)
    return { problem: 'must be https: http works below localhost only, like http://*.apps.localhost:5001' };
  const labels = suffix.slice(1).split('.');
  if ((labels.length < 2 && !isLocal) || /^\d+$/.test(labels.at(-1) ?? ''))
    return { problem: 'must have a domain of its own after the *, like https://*.apps.example.org' };
  if (suffix.length > MAX_SUFFIX_LENGTH)
    return { problem: `must have at most ${MAX_SUFFIX_LENGTH} characters after the *` };
  if (port !== '' && !(Number(port) >= 1 && Number(port) <= MAX_PORT))
    return { problem: `must have a port from 1 to ${MAX_PORT}, or none` };
  const isDefault = Number(port) === Number(DEFAULT_PORTS[scheme]);
  return { scheme, suffix, port: isDefault || port === '' ? '' : String(Number(port)) };
}

/** `8080-12.apps.example.org`, with the port if it is not the default one. */
export const appHostOf = ({ suffix, port: ofSite }: AppSite, { port, serviceId }: AppName): string =>
  `${port}-${serviceId}${suffix}${ofSite === '' ? '' : `:${ofSite}`}`;

export const appOriginOf = (site: AppSite, name: AppName): string =>
  `${site.scheme}://${appHostOf(site, name)}`;

/** Parses `<port>-<service id>`. Undefined for any other text, also for other ways to write the numbers. */
export function readAppName(text: string): AppName | undefined {
  const [, port, serviceId] = NAME.exec(text) ?? [];
  return port === undefined || Number(port) > MAX_PORT
    ? undefined
    : { port: Number(port), serviceId: Number(serviceId) };
}

/**
 * The application at a host, which is a name with or without a port. Null for a host below the applications'
 * parent that names none; undefined for any other, which is Berth's own.
 */
export function appAt(site: AppSite, host: string): AppName | null | undefined {
  const [, name = '', port = ''] = /^(.*?)(?::(\d*))?$/.exec(host.toLowerCase()) ?? [];
  if (!name.replace(/\.+$/, '').endsWith(site.suffix)) return undefined;
  const isPort = site.port === '' ? ['', DEFAULT_PORTS[site.scheme]].includes(port) : port === site.port;
  if (!isPort || !name.endsWith(site.suffix)) return null;
  return readAppName(name.slice(0, -site.suffix.length)) ?? null;
}

/**
 * Whether browsers may take two host names for one site. Names of one site have the same last two labels,
 * since a registrable domain has at least two. The converse does not hold below suffixes such as co.uk.
 */
export const mayShareSite = (one: string, other: string): boolean => lastTwo(one) === lastTwo(other);

const lastTwo = (host: string): string =>
  host.toLowerCase().replace(/\.+$/, '').split('.').slice(-2).join('.');
