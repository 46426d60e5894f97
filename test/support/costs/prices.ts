/**
 * Prices of Cloudflare and Turso in US dollars, looked up on `PRICES_AS_OF` in public copies of their pages.
 * They change, and a copy may be older: look them up before you rely on a result.
 */

export const PRICES_AS_OF = '2026-11-25';

export const MILLION = 1_000_000;

/** What a price includes, and what each further `unit` costs. */
export interface Price {
  included: number;
  unit: number;
  price: number;
}

/** https://developers.cloudflare.com/workers/platform/pricing and durable-objects/platform/pricing */
export const cloudflare = {
  /** Workers Paid, the least for an account. */
  plan: 5,
  requests: { included: 10 * MILLION, unit: MILLION, price: 0.3 },
  cpuMs: { included: 30 * MILLION, unit: MILLION, price: 0.02 },
  objectRequests: { included: MILLION, unit: MILLION, price: 0.15 },
  /** GB-seconds: an object counts as 128 MB, whatever it uses. */
  gbSeconds: { included: 400_000, unit: MILLION, price: 12.5 },
  rowsWritten: { included: 50 * MILLION, unit: MILLION, price: 1 },
} satisfies Record<string, Price | number>;

/** Incoming WebSocket messages that count as one request to an object. Outgoing ones are free. */
export const MESSAGES_PER_REQUEST = 20;
export const OBJECT_GB = 0.128;

/** https://turso.tech/pricing: what each plan includes. */
export const tursoPlans = [
  { name: 'Free', price: 0, rowsRead: 500 * MILLION, rowsWritten: 10 * MILLION },
  { name: 'Developer', price: 4.99, rowsRead: 2_500 * MILLION, rowsWritten: 25 * MILLION },
  { name: 'Scaler', price: 24.92, rowsRead: 100_000 * MILLION, rowsWritten: 100 * MILLION },
  { name: 'Pro', price: 416.58, rowsRead: 250_000 * MILLION, rowsWritten: 250 * MILLION },
] as const;

export const costOf = (amount: number, { included, unit, price }: Price): number =>
  (Math.max(0, amount - included) / unit) * price;
