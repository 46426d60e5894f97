/** Settings of the addresses of web applications: names, checks, and what the programs make of them. */
import * as z from 'zod';
import { readAppSite } from '../core/apps/app-site.ts';
import type { AppPlaces } from './context.ts';

const HOST = '[a-z0-9-]+(\\.[a-z0-9-]+)*';
/** Where each application has a path. */
const ORIGIN = new RegExp(`^https?://${HOST}(:\\d{1,5})?/?$`);

const isEncrypted = (url: string): boolean =>
  url.startsWith('https:') || /^http:\/\/([^/]*\.)?localhost(:\d+)?\/?$/.test(url);
const NOT_ENCRYPTED = 'must begin with https, except for names beneath localhost';

const address = (pattern: RegExp, problem: string) =>
  z
    .string()
    .regex(pattern, { error: problem, abort: true })
    .refine((url) => URL.canParse(url), { error: problem, abort: true })
    .refine(isEncrypted, NOT_ENCRYPTED)
    .transform((url) => url.replace(/\/$/, ''))
    .optional();

export const appsSettings = {
  BERTH_APPS_URL: z
    .string()
    .superRefine((text, { addIssue }) => {
      const read = readAppSite(text);
      if ('problem' in read) addIssue(read.problem);
    })
    .transform((url) => url.replace(/\/$/, ''))
    .optional(),
  BERTH_APPS_PATHS: address(ORIGIN, 'must be an address without a path, like https://app-paths.example.org'),
};

export interface AppsConfig {
  BERTH_APPS_URL?: string | undefined;
  BERTH_APPS_PATHS?: string | undefined;
  BERTH_PUBLIC_URL?: string | undefined;
  BERTH_HOST?: string;
}

/**
 * Applications with a path are all of one origin, so that this must never be that of Berth, whose pages and
 * cookies they could then use, nor one of those that belong to a single application.
 */
export function appsProblems(config: AppsConfig): string[] {
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

export const appPlacesOf = (config: AppsConfig, proofOf: AppPlaces['proofOf']): AppPlaces => ({
  ...{ hosts: config.BERTH_APPS_URL, paths: config.BERTH_APPS_PATHS },
  proofOf,
});
