/** What the table of pages needs: a Berth with what its pages show, and their visits in a browser. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import elasticBatch from '../../../examples/shop/elastic-batch/elastic-batch.json' with { type: 'json' };
import hello from '../../../examples/shop/hello/hello.json' with { type: 'json' };
import twoTier from '../../../examples/shop/two-tier/two-tier.json' with { type: 'json' };
import { applicationSchema } from '../../../shared/application-schema.ts';
import { plain } from '../clients/account-client.ts';
import type { Berth } from '../rigs/berth.ts';
import type { Visit } from './pages.ts';

/** Without these keys there is no page of secrets. */
export const PAGE_SETTINGS = { BERTH_SECRET_KEYS: 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' };

/** Makes the executions and the user whose ids are in the table. Must come first on a new Berth. */
export async function fillPages({ api }: Berth): Promise<void> {
  for (const example of [twoTier, hello, elasticBatch]) {
    await api.waitFor(await api.submit(applicationSchema.parse(example)), 'running', 120_000);
  }
  // More memory than any host has.
  const [service] = hello.services;
  const resources = { ...service?.resources, memory: { min: 2 ** 44, max: null } };
  await api.submit(
    applicationSchema.parse({ ...hello, name: 'too-large', services: [{ ...service, resources }] }),
  );
  expect((await api.http.post('user', { username: 'carla', ...plain })).status).toBe(200);
}

export async function openVisit(page: Page, visit: Visit): Promise<void> {
  if (typeof visit === 'string') {
    await page.goto(visit);
    return;
  }
  // In the page, so that the answer is a page of this site as for a user who has sent the form.
  const answered = page.waitForNavigation({ waitUntil: 'load' });
  await page.evaluate(`{
    const { path, fields } = ${JSON.stringify(visit)};
    const form = Object.assign(document.createElement('form'), { method: 'post', action: path });
    for (const [name, value] of Object.entries(fields)) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
    }
    document.body.append(form);
    form.submit();
  }`);
  await answered;
}
