/** Which application the query of a link to Berth names. */
import { pathApp } from '../../core/apps/app-address.ts';
import { type AppPlace, placeAtHost, placeAtPath } from '../../core/apps/app-place.ts';
import { readAppName } from '../../core/apps/app-site.ts';
import { isPathApp } from '../app-addresses.ts';
import type { Context } from '../context.ts';
import type { AppSettings } from './settings.ts';

/**
 * `text`: `<port>-<service id>`, or the key of a path. Undefined if the key is not genuine. Tickets and
 * passes are made for what this returns only.
 */
export async function placeNamed(
  context: Pick<Context, 'db' | 'appPlaces'>,
  { site, paths }: AppSettings,
  text: string,
): Promise<AppPlace | undefined> {
  const name = readAppName(text);
  if (name) return site && placeAtHost(site, name);
  const app = pathApp(`/${text}`);
  if (!paths || app?.rest !== '') return undefined;
  return (await isPathApp(context, app)) ? placeAtPath(paths, app) : undefined;
}
