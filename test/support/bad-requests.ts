/**
 * Owns requests as nobody should send them: any route with any method, id, query, header, credential and body, most of
 * them wrong. Nothing here that is right in itself harms the accounts which the requests are sent with.
 */
import { METHODS } from 'node:http';
import { application, service } from './descriptions.ts';
import type { HostKind } from './hosts.ts';
import { basic } from './http-client.ts';
import { fc } from './random-cases.ts';
import type { Route } from './routes.ts';

export interface BadRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
}

/** Ids that may be there; the accounts of the requests, and what they have, are below. */
export const FIRST_ID = 4;
export const LAST_ID = 12;

/** Requests to `routes`; `cookie` is one that Berth has given out, with all its attributes. */
export function badRequest(
  routes: readonly Route[],
  kind: HostKind,
  cookie: string,
): fc.Arbitrary<BadRequest> {
  // What stands before workerd knows no others.
  const methods = kind === 'node' ? METHODS.filter((method) => method !== 'CONNECT') : COMMON_METHODS;
  return fc
    .record({
      route: fc.oneof(
        fc.constantFrom(...routes),
        fc.constantFrom(...routes.filter(({ method }) => method === 'POST')),
      ),
      method: seldom(fc.constantFrom(...methods)),
      segments: fc.array(segment, { minLength: 4, maxLength: 4 }),
      more: seldom(segment),
      query: fc.oneof({ weight: 2, arbitrary: fc.constant('') }, query),
      headers: fc.dictionary(fc.constantFrom(...Object.keys(HEADERS)), fc.nat(), { maxKeys: 3 }),
      credentials: credentials(cookie),
      body,
    })
    .map(({ route, method, segments, more, query, headers, credentials, body }) => {
      let nth = 0;
      const path = route.path.replace(/:\w+|\*/g, () => segments[nth++ % segments.length] ?? '');
      const used = method ?? route.method;
      const odd = Object.entries(headers).map(([name, at]) => [name, oneOf(HEADERS[name] ?? [''], at)]);
      return {
        method: used,
        path: (more === null ? path : `${path}/${more}`) + query,
        headers: { ...Object.fromEntries(odd), ...credentials },
        // Those without a body that HTTP means would be refused before Berth, by clients and proxies.
        ...(body !== null && !BODILESS.includes(used) && { body }),
      };
    });
}

const COMMON_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const BODILESS = ['GET', 'HEAD', 'TRACE', 'OPTIONS'];

const seldom = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, arbitrary);

const words = (text: string): string[] => text.split(' ');

const oneOf = <T>(values: readonly T[], at: number): T => values[at % values.length] as T;

/** Text that HTTP lets into a request's line, and no id. */
const encoded = fc
  .string({ unit: 'binary', maxLength: 12 })
  .map((text) => encodeURIComponent(text.toWellFormed()))
  .filter((text) => !/^(\.*|\d+)$/.test(text));
const ids = [
  ...words(
    '0 -1 +1 -0 1.5 1.0 1e3 0x1 1,2 1;2 999999999999999 9999999999999999 NaN Infinity null true delete',
  ),
  ...words(
    '__proto__ constructor [object%20Object] * :id %00 1%00 4%20 1%0a %0d%0aX-Evil:%20yes %C3%A4 %25 %5c',
  ),
  ...words('%F0%9F%9A%A2 %ED%A0%80 % %zz %E0%A4%A %D9%A1 %EF%BC%91 ..%2f..%2f %2e%2e%2f %27%20OR%201=1--'),
  '1'.repeat(300),
];
const there = fc.integer({ min: FIRST_ID, max: LAST_ID });
const segment = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...ids) },
  { weight: 3, arbitrary: there.map(String) },
  { weight: 1, arbitrary: there.map((id) => `000${id}`) },
  { weight: 2, arbitrary: encoded },
);

const FILTERS = [
  ...words('status name user_id limit earlier_than_submit earlier_than_start later_than_end username email'),
  ...words('role_id quota_id auth_source priority enabled __proto__ %00'),
];
const FILTER_VALUES = [
  ...words(
    '0 1 -1 1.5 1e99 1e-99 1e400 NaN -Infinity 999999999999999 queued scheduled running true maybe null',
  ),
  ...words('%00 %0d%0aX-Evil:%20yes %C3%A4 % %ff'),
  ...['', '9'.repeat(400)],
];
const parameter = fc
  .tuple(
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...FILTERS) }, encoded),
    fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...FILTER_VALUES) }, encoded),
    fc.constantFrom('=', '=', '=', '', '[]=', '=='),
  )
  .map(([name, value, between]) => name + between + value);
const query = fc
  .tuple(fc.array(parameter, { minLength: 1, maxLength: 4 }), fc.boolean())
  .map(([all, twice]) => `?${[...all, ...(twice ? all : [])].join('&')}`);

const HEADERS: Record<string, readonly string[]> = {
  'content-type': ['text/plain', 'multipart/form-data', 'application/json; charset=utf-16', '\xff', ''],
  'content-encoding': ['gzip', 'br', 'nonsense'],
  accept: ['text/html', 'image/*;q=nonsense', '\xe4'],
  origin: ['https://elsewhere.example', 'null', '\xff', 'http://['],
  'sec-fetch-site': ['cross-site', 'same-origin', 'nonsense'],
  'x-forwarded-proto': ['https', 'https,http', '\xff'],
  'x-http-method-override': ['DELETE'],
  range: ['bytes=0-1', 'bytes=9-1', 'nonsense'],
  'if-none-match': ['*', '"x"'],
  'last-event-id': ['1-1', 'nonsense', '\xff', '9'.repeat(400)],
  'if-modified-since': ['nonsense'],
};

type Headers = Record<string, string>;

const credentials = (cookie: string): fc.Arbitrary<Headers> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.constant(basic(STORM.username, STORM.password)) },
    { weight: 10, arbitrary: fc.constant(basic(PLAIN.username, PLAIN.password)) },
    { weight: 12, arbitrary: fc.constant({}) },
    { weight: 10, arbitrary: fc.constantFrom({ cookie: cookie.split(';')[0] ?? '' }, { cookie }) },
    {
      weight: 10,
      arbitrary: fc.constantFrom(
        ...[
          'Basic',
          'Basic %%%',
          'Basic a',
          'basic \xff',
          'Bearer',
          'Bearer \xe4',
          'Bearer a.b.c',
          'Negotiate x',
        ].map((authorization) => ({ authorization })),
        { cookie: 'berth_session=' },
        { cookie: `berth_session=${'x'.repeat(2_000)}` },
        { cookie: 'berth_session=%E0%A4%A; berth_session=\xff; ;;=' },
        { cookie: 'a=b; '.repeat(200) },
      ),
    },
    // Rarely, since each is an scrypt.
    {
      weight: 1,
      arbitrary: fc.constantFrom(basic('ü\0\r\n', 'x'), basic('', ''), basic(STORM.username, 'wrong')),
    },
  );

/** May do everything. */
export const STORM = { username: 'storm', password: 'secret: one', role: 'admin' } as const;
/** May do little. */
export const PLAIN = { username: 'plain', password: 'secret: two', role: 'user' } as const;

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** JSON texts that are seldom what is asked for. */
const values = [
  ...words(
    'null true 0 -1 1.5 1e999 -0 9007199254740993 "" "\\u0000" "\\ud800" "\\u202e" "{dns_name#none}" "\\\\"',
  ),
  ...words('[] [null] [[]] {} {"toString":1} {"__proto__":null} {"__proto__":{"id":1}} {"length":1e9}'),
  ...[
    '" "',
    '"a\\r\\nX-Evil: yes"',
    '"ä 🚢"',
    `"${'x'.repeat(5_000)}"`,
    `[${'1,'.repeat(5_000)}1]`,
    deep(20_000),
  ],
];
const value = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...values) }, fc.json());

/** None of these lets anybody in, or shuts anybody out, with whatever value of the above. */
const KEYS = [
  ...words(
    'name application email fs_uid priority concurrent_executions memory cores id services grant_type',
  ),
  ...words('can_access_api can_change_config schedulable labels force __proto__ constructor'),
  ...['', 'X-Evil: \\r\\n'],
];
const object = fc
  .array(fc.tuple(fc.constantFrom(...KEYS), value), { maxLength: 6 })
  .map((pairs) => `{${pairs.map(([key, text]) => `"${key}":${text}`).join(',')}}`);

const described = JSON.stringify(application(service({ environment: [['A', 'b']], labels: ['gpu'] })));
/** Beginnings of the values in it. */
const places = [...described.matchAll(/(?<=":)(?:"[^"]*"|\d+|true|false|null|\[\]|\[[^{}]*?\](?=[,}]))/g)];
const putting = (text: string, { index, 0: old }: RegExpExecArray) =>
  described.slice(0, index) + text + described.slice(index + old.length);
const description = fc.tuple(value, fc.constantFrom(...places)).map(([text, place]) => putting(text, place));

/** A description as JSON, once for each of its values and each bad value in that place. */
export const brokenDescriptions = (): string[] =>
  places.flatMap((place) => values.map((text) => putting(text, place)));

const submission = fc
  .tuple(fc.oneof(fc.constantFrom('"storm"'), value), fc.oneof(fc.constant(described), description, value))
  .map(([name, text]) => `{"name":${name},"application":${text}}`);

const body: fc.Arbitrary<Buffer | null> = fc.oneof(
  fc.constant(null),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  { weight: 6, arbitrary: fc.oneof(object, submission, submission, description, value).chain(dressed) },
);

/** The text in one of the forms in which it may arrive, or in pieces. */
function dressed(text: string): fc.Arbitrary<Buffer> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(Buffer.from(text)) },
    fc.constantFrom(
      Buffer.from(encodeURIComponent(text)),
      Buffer.from(`\ufeff${text}`),
      Buffer.from(text, 'latin1'),
      Buffer.from(text, 'utf16le'),
      Buffer.concat([Buffer.from(text), Buffer.from([0])]),
    ),
    fc.nat({ max: text.length }).map((end) => Buffer.from(text.slice(0, end))),
  );
}
