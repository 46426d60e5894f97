/** Cookies of browsers at web applications: which are Berth's, and which an application may set. Pure. */

/** The cookie that admits a browser to one application. */
export const APP_COOKIE = '__Host-berth_app';
/** What a browser must bring back from its login: a secret of its first visit. */
export const VISIT_COOKIE = '__Host-berth_visit';

/**
 * Names of Berth's cookies, here and at its own address. Browsers tell prefixes apart in any case. Characters
 * before them that some program might leave out make no other name.
 */
const OF_BERTH = /^[^!-~]*(__host-|__secure-)?berth_/i;
/** What only a name may begin with. Some browsers send `=name` as if it were a name. */
const PREFIXED = /^[^!-~]*__(host|secure)-/i;

/**
 * The value of Berth's cookie in a Cookie header. Undefined also if there are two of that name: another
 * program has set one of them.
 */
export function cookieIn(header: string | undefined, name: string): string | undefined {
  const [value, ...more] = valuesIn(header, name);
  return more.length === 0 ? value : undefined;
}

/** Whether a Cookie header has different cookies of that name. A login would not end that. */
export const hasSeveral = (header: string | undefined, name: string): boolean =>
  valuesIn(header, name).length > 1;

/** The different values of the cookies that have exactly this name. */
const valuesIn = (header: string | undefined, name: string): string[] => {
  const values = pairsIn(header).flatMap((pair) => (pair.name === name ? [pair.value] : []));
  return [...new Set(values)];
};

/** What a person can do about `hasSeveral`. */
export const severalText = (name: string, host: string): string =>
  `Your browser sends two cookies with the name ${name}, of which another program has set one. ` +
  `Delete the cookies of ${host} in your browser, and open the page again.`;

/** Whether a text has a token of Berth, whatever stands before it. */
export const hasOwnToken = (text: string): boolean => /berth_[a-z]{3,8}_[\w-]{16}/i.test(text);

/** A Cookie header without what is Berth's; undefined if nothing remains. */
export function cookiesOfApp(header: string): string | undefined {
  const rest = pairsIn(header).filter(
    ({ name, value, text }) => !isOfBerth(name, value) && !hasOwnToken(text),
  );
  return rest.length === 0 ? undefined : rest.map(({ text }) => text).join('; ');
}

/**
 * A Set-Cookie header as it may reach the browser: for this host only, and for paths below `prefix` only.
 * Undefined if it must not be set: it has a name of Berth's, or none.
 */
export function cookieForBrowser(header: string, prefix = ''): string | undefined {
  if (/[^\t\x20-\x7e\x80-\uffff]/.test(header)) return undefined;
  const [pair = '', ...attributes] = header.split(';');
  const { name, value } = pairOf(pair);
  if (name === '' || isOfBerth(name, value)) return undefined;
  const isNamed = (name: string) => (one: string) => pairOf(`${one}=`).name.toLowerCase() === name;
  const kept = attributes.filter((one) => !isNamed('domain')(one));
  if (prefix === '') return [pair, ...kept].join(';');
  // The last one counts. Without any, the cookie is for the folder of the path that was requested.
  const path = pairOf(kept.findLast(isNamed('path')) ?? '').value;
  const isWithin = path === prefix || path.startsWith(`${prefix}/`);
  const narrowed = path.startsWith('/') ? [` Path=${isWithin ? path : `${prefix}/`}`] : [];
  return [pair, ...kept.filter((one) => !isNamed('path')(one)), ...narrowed].join(';');
}

interface Pair {
  name: string;
  value: string;
  text: string;
}

const pairsIn = (header = ''): Pair[] =>
  header
    .split(';')
    .map(pairOf)
    .filter(({ text }) => text !== '');

function pairOf(part: string): Pair {
  const text = bare(part);
  const equals = text.indexOf('=');
  // A pair without a name is a value alone.
  return equals < 0
    ? { name: '', value: text, text }
    : { name: bare(text.slice(0, equals)), value: bare(text.slice(equals + 1)), text };
}

/**
 * Without what browsers leave out around names and values: spaces and tabs (RFC 6265). A name after any other
 * space, such as a no-break space, is a different name, which lacks the protection of its prefix.
 */
const bare = (text: string): string => text.replace(/^[ \t]+/, '').replace(/(?<![ \t])[ \t]+$/, '');

const isOfBerth = (name: string, value: string): boolean =>
  OF_BERTH.test(name) || (name === '' && (OF_BERTH.test(value) || PREFIXED.test(value)));
