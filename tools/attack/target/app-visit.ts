/** Web applications of the attacks: their host names, and how a user gets in as a browser does. */
import { Skipped } from '../attack.ts';
import type { Reply } from './http.ts';
import type { Account, Target } from './target.ts';

/** As browsers send them when a person opens a page. */
export const VISIT = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };

/** The host of the first web application of a service. Throws Skipped if the deployment has none. */
export async function appHostOf(target: Target, account: Account, service: number): Promise<string> {
  const path = `/native/api/0.7/service/${service}`;
  const { applications = [] } = await target.jsonAs<{ applications?: { url: string }[] }>(
    account,
    'GET',
    path,
  );
  const host = applications.map(({ url }) => new URL(url).host).find((one) => /^\d+-\d+\./.test(one));
  if (host === undefined) throw new Skipped('the deployment has no BERTH_APPS_URL');
  return host;
}

export const sendTo = (
  target: Pick<Target, 'send'>,
  host: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<Reply> => target.send({ path, headers: { host, ...headers } });

/** Gets in with the session of an account. Resolves to the cookie of the application. */
export async function enter(
  target: Pick<Target, 'send'>,
  account: Pick<Account, 'cookie'>,
  host: string,
): Promise<string> {
  const first = await sendTo(target, host, '/', VISIT);
  const open = pathIn(first);
  const second = await target.send({ path: open, headers: { ...VISIT, cookie: account.cookie } });
  const entered = await sendTo(target, host, pathIn(second), { ...VISIT, cookie: cookiesOf(first) });
  const cookie = cookiesOf(entered);
  if (entered.status !== 303 || cookie === '') throw new Error(`the visit was answered ${entered.status}`);
  return cookie;
}

/** Where a redirect leads on its host. */
export function pathIn({ status, headers, text }: Reply): string {
  if (headers.location === undefined) throw new Error(`no redirect, but ${status} ${text.slice(0, 200)}`);
  const { pathname, search } = new URL(headers.location);
  return pathname + search;
}

const cookiesOf = ({ headers }: Reply): string =>
  (headers['set-cookie'] ?? []).map((one) => one.split(';')[0]).join('; ');
