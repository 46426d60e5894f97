/**
 * Addresses of web applications: a host name of its own for each port of HTTP, and a path for ports with
 * `proxy` (SPEC H740 to H746). Pure.
 */
import type { ServiceDescription } from '../../../shared/application-schema.ts';
import { type AppSite, appOriginOf } from './app-site.ts';

export type Port = ServiceDescription['ports'][number];

/** A port of one instance. */
export interface AppIds {
  service: number;
  port: number;
}

/** Where the applications of this deployment are. Neither: they have only what hosts publish. */
export interface AppAddresses {
  /** BERTH_APPS_URL. */
  hosts?: AppSite | undefined;
  /** BERTH_APPS_PATHS: the origin, and the key of a port beneath it. */
  paths?: { origin: string; keyOf(ids: AppIds): string } | undefined;
}

/** A port whose address has a page: the host's template begins with `http:`, in any case. */
export const isWebPort = ({ protocol, url_template }: Pick<Port, 'protocol' | 'url_template'>): boolean =>
  protocol === 'tcp' && /^http:/i.test(url_template);

/**
 * The address at a host name of its own, with the path of the port's template; undefined without
 * BERTH_APPS_URL, or for a port without pages.
 */
export function appAddress(addresses: AppAddresses, service: number, port: Port): string | undefined {
  const { hosts } = addresses;
  if (hosts === undefined || !isWebPort(port)) return undefined;
  const origin = appOriginOf(hosts, { port: port.port_number, serviceId: service });
  const rest = /^http:\/\/\{ip_port\}(.*)$/is.exec(port.url_template)?.[1] ?? '';
  const path = rest.replaceAll('{proxy_path}', proxyPath(addresses, service, port) ?? '/');
  return `${origin}${/^[/?#]/.test(path) ? '' : '/'}${path}`;
}

/**
 * The path under which the application serves, without a slash at its end: what REVERSE_PROXY_PATH_<port> is
 * in the container. Undefined without BERTH_APPS_PATHS, or for a port without `proxy`.
 */
export function proxyPath({ paths }: AppAddresses, service: number, port: Port): string | undefined {
  if (paths === undefined || port.proxy !== true || !isWebPort(port)) return undefined;
  return `/${paths.keyOf({ service, port: port.port_number })}`;
}

/** The address beneath BERTH_APPS_PATHS; undefined if the port has none. */
export function pathAddress(addresses: AppAddresses, service: number, port: Port): string | undefined {
  const path = proxyPath(addresses, service, port);
  return path === undefined ? undefined : `${addresses.paths?.origin}${path}/`;
}

/** The key of a port, as part of a path. The proof is unguessable, and worthless for another port. */
export const appKey = ({ service, port }: AppIds, proof: string): string => `${port}-${service}-${proof}`;

export interface PathApp {
  serviceId: number;
  port: number;
  /** To be compared with the one that belongs to these ids. */
  proof: string;
  /** What follows the key, from its slash on; empty without one. The application gets the whole path. */
  rest: string;
}

const PATH = /^\/([1-9]\d{0,4})-([1-9]\d{0,14})-([\w-]{22})(\/.*)?$/s;
const MAX_PORT = 65_535;

/** What a path beneath BERTH_APPS_PATHS names; undefined if it has no key of the right form. */
export function pathApp(path: string): PathApp | undefined {
  const [, port, service, proof, rest = ''] = PATH.exec(path) ?? [];
  if (proof === undefined || Number(port) > MAX_PORT) return undefined;
  return { serviceId: Number(service), port: Number(port), proof, rest };
}

/** Whether every user may use the web applications of the services. */
export const sharedWithUsers = ({ share }: { share?: 'users' | undefined }): boolean => share === 'users';
