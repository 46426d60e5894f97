/** What browsers add to requests, also to those that another site causes. */

/** One of these comes with each request that another site causes. */
export const FOREIGN = [
  { origin: 'https://evil.example' },
  { origin: 'null' },
  { 'sec-fetch-site': 'cross-site' },
  { 'sec-fetch-site': 'same-site' },
  { 'sec-fetch-site': 'same-site', origin: 'http://other.berth.example' },
] as const;
/** Over plain http, browsers add nothing more to a GET. */
export const BROWSER = {
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0',
  'accept-language': 'en-GB,en;q=0.9',
};
