/** Attacks by another web site: requests as a browser sends them, with the credentials that it adds. */
import { BROWSER, FOREIGN } from '../../../test/support/attacks/foreign-requests.ts';
import { type Attack, judge, safe, vulnerable } from '../attack.ts';
import { basic } from '../target/http.ts';

/** Without effect even where they are accepted: no execution has this id. */
const UNSAFE = [
  ['DELETE', 'execution/999999999999'],
  ['POST', 'execution'],
  ['POST', '/logout'],
] as const;

const crossSiteRequest: Attack = {
  id: 'cross-site-request',
  who: 'another web site',
  rules: ['H21', 'W5'],
  tries: 'changes something by a request with the cookie, or with Basic credentials that a browser remembers',
  run: async (target) => {
    const { name, password, cookie } = target.account('attacker');
    const accepted = new Set<string>();
    for (const credential of [{ cookie }, basic(name, password)])
      for (const foreign of FOREIGN)
        for (const [method, path] of UNSAFE) {
          const headers = { ...BROWSER, ...foreign, ...credential };
          const { status } = await target.send({ method, path, headers, body: '{}' });
          if (status !== 403) accepted.add(`${method} ${path} with ${JSON.stringify(foreign)}: ${status}`);
        }
    return judge([...accepted], `all ${2 * FOREIGN.length * UNSAFE.length} requests were refused with 403`);
  },
};

const crossSiteLogin: Attack = {
  id: 'cross-site-login',
  who: 'another web site',
  rules: ['H320'],
  tries: 'logs a browser in by a link that contains a name and a password',
  run: async (target) => {
    const { name, password } = target.account('attacker');
    const requests: readonly Record<string, string>[] = [
      { ...BROWSER, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      { ...BROWSER, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate', accept: 'text/html' },
      { ...BROWSER, accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
      BROWSER,
    ];
    for (const headers of requests)
      for (const path of ['login', 'execution', '/']) {
        const reply = await target.send({ path, headers: { ...headers, ...basic(name, password) } });
        if (reply.headers['set-cookie']?.some((cookie) => cookie.startsWith('berth_session=')))
          return vulnerable(`GET ${path} with ${JSON.stringify(headers)} gave a session cookie`);
      }
    return safe('no request got a session cookie');
  },
};

const frames: Attack = {
  id: 'frames',
  who: 'another web site',
  rules: ['W4'],
  tries: 'puts the login page into a frame, and lets it run a script',
  run: async (target) => {
    const { headers } = await target.send({ path: '/login', headers: { accept: 'text/html' } });
    const policy = String(headers['content-security-policy'] ?? '');
    const refused = (pattern: RegExp, what: string) => (pattern.test(policy) ? [] : [what]);
    return judge(
      [
        ...refused(/frame-ancestors 'none'/, 'the page can be put into a frame'),
        ...(/script-src[^;]*'unsafe-inline'/.test(policy) ? ['the page runs inline scripts'] : []),
        ...refused(/(default|script)-src/, 'the page loads scripts of any site'),
      ],
      'the policy of the page allows neither',
    );
  },
};

export const sites: readonly Attack[] = [crossSiteRequest, crossSiteLogin, frames];
