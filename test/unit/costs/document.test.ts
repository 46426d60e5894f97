/** The tables of docs/cloudflare.md and the formula behind them. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { costOfUsage, usageOf } from '../../support/costs/formula.ts';
import { cloudflare, costOf, MILLION, PRICES_AS_OF } from '../../support/costs/prices.ts';
import { costTable, countsTable, pricesTable, usageTable } from '../../support/costs/tables.ts';

const guide = readFileSync('docs/cloudflare.md', 'utf8');

test.each([
  ['counts', countsTable()],
  ['prices', pricesTable()],
  ['usage', usageTable()],
  ['cost', costTable()],
])('H401: the table of the %s in the guide is what the formula gives', (_, table) => {
  expect(guide.includes(table), `docs/cloudflare.md must have this table:\n${table}\n`).toBe(true);
});

test('H401: the guide says when the prices were looked up', () => {
  expect(guide.includes(PRICES_AS_OF)).toBe(true);
});

test('H401: the guide has the price of further deployments with requeue, whose objects are active all the time', () => {
  const { gbSeconds } = usageOf({ hosts: 1, submissionsPerMinute: 0, requeues: true });
  const extra = (objects: number) =>
    costOf(objects * gbSeconds, cloudflare.gbSeconds) -
    costOf((objects - 1) * gbSeconds, cloudflare.gbSeconds);
  const sentence = `costs $${extra(2).toFixed(2)} a month more, and each further one $${extra(3).toFixed(2)}`;
  expect(guide.replace(/\s+/g, ' ')).toContain(sentence);
});

test('H401: only what exceeds the included amount costs', () => {
  const price = { included: 10, unit: MILLION, price: 3 };
  expect([costOf(9, price), costOf(10, price), costOf(10 + MILLION, price)]).toEqual([0, 0, 3]);
});

test('H401: alarms are charged in full, pulses not at all, messages at a twentieth and the calls that pass them on in full', () => {
  const minutes = 30 * 24 * 60;
  const requestsOf = (hosts: number, requeues: boolean) =>
    usageOf({ hosts, submissionsPerMinute: 0, requeues }).objectRequests;
  expect(requestsOf(0, false)).toBeCloseTo(0.1 * minutes);
  expect(requestsOf(1, false)).toBeCloseTo((0.1 + 0.8) * minutes);
  expect(requestsOf(100, false)).toBe(requestsOf(1, false));
  expect(requestsOf(1, true) - requestsOf(1, false)).toBeCloseTo((6 * (1 / 20 + 2) + 2 - 0.1) * minutes);
});

test('H401: objects are awake for their work only, and with requeue all the time', () => {
  const gbSecondsOf = (submissionsPerMinute: number, requeues: boolean) =>
    usageOf({ hosts: 100, submissionsPerMinute, requeues }).gbSeconds;
  const all = gbSecondsOf(0, true);
  expect(gbSecondsOf(0, false) / all).toBeLessThan(0.02);
  expect(gbSecondsOf(1, false)).toBeGreaterThan(gbSecondsOf(0, false));
  expect(gbSecondsOf(1_000, false)).toBe(all);
});

test('H401: a load beyond all plans of the database is an error, not a price', () => {
  expect(() => costOfUsage(usageOf({ hosts: 1, submissionsPerMinute: 1000, requeues: false }))).toThrow(
    'no plan',
  );
});
