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

test('H401: the guide has the price of further deployments, whose objects are active all the time', () => {
  const { gbSeconds } = usageOf({ hosts: 1, submissionsPerMinute: 0 });
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

test('H401: messages of agents are charged at a twentieth, the calls that pass them on and alarms in full', () => {
  const [none, one] = [
    usageOf({ hosts: 0, submissionsPerMinute: 0 }),
    usageOf({ hosts: 1, submissionsPerMinute: 0 }),
  ];
  expect(one.objectRequests - none.objectRequests).toBe(6 * 30 * 24 * 60 * (1 / 20 + 2));
  expect(none.objectRequests).toBe(0.8 * 30 * 24 * 60);
});

test('H401: a load beyond all plans of the database is an error, not a price', () => {
  expect(() => costOfUsage(usageOf({ hosts: 1, submissionsPerMinute: 1000 }))).toThrow('no plan');
});
