/** What people who use the pages every day have stumbled over. */
import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { accessProblems } from '../../../support/browser/page-quality.ts';
import { application, service } from '../../../support/fixtures/descriptions.ts';

const GIB = 1024 ** 3;

export function everyday(site: () => Site): void {
  test('W167: a chart shows a change as a step, and not as a slope from an earlier sample', async () => {
    const page = await site().visit('/executions');
    // Records the lines that are drawn, as the ends of each piece in pixels.
    await page.addInitScript(`
        window.pieces = [];
        const ends = new WeakMap();
        for (const [name, isLine] of [['moveTo', false], ['lineTo', true]]) {
          const draw = Path2D.prototype[name];
          Path2D.prototype[name] = function (x, y) {
            const from = ends.get(this);
            if (isLine && from) window.pieces.push([x - from[0], y - from[1]]);
            ends.set(this, [x, y]);
            return draw.call(this, x, y);
          };
        }`);
    const nowS = Math.round(Date.now() / 1_000);
    const samples = [
      [nowS - 1_200, 0, 0, 0, 0, 16 * GIB, 0, 0, 8],
      [nowS - 30, 3, 1, 4 * GIB, 3 * GIB, 16 * GIB, 2, 1.5, 8],
      [nowS, 3, 1, 4 * GIB, 3 * GIB, 16 * GIB, 2, 1.5, 8],
    ];
    await page.route('**/cluster', async (route) => {
      const text = await (await route.fetch()).text();
      const shown = JSON.stringify(samples);
      await route.fulfill({
        body: text.replace(/data-samples="[^"]*"/, `data-samples="${shown}"`),
        contentType: 'text/html',
      });
    });
    await page.goto('/cluster');
    await page.locator('.chart canvas').nth(2).waitFor();
    const pieces = await page.evaluate<[number, number][]>('window.pieces');
    expect(pieces.filter(([x, y]) => x > 0.5 && Math.abs(y) < 0.5).length).toBeGreaterThan(8);
    expect(pieces.filter(([x, y]) => Math.abs(x) > 0.5 && Math.abs(y) > 0.5)).toEqual([]);
  });

  test('W10, W168, W172: the filtered list and the queue are accessible with counts and the reasons of many', async () => {
    const { api } = site().berth;
    const large = { memory: { min: 4_096 * GIB, max: null }, cores: { min: null, max: null } };
    // axe-core looks at no text of a single character, such as a count below 10.
    for (let n = 0; n < 10; n++) await api.submit(application(service({ resources: large })), `queued ${n}`);
    const page = await site().visit('/executions?state=queued', { colorScheme: 'light' });
    await page.locator('.pills [aria-current]').getByText('10').waitFor();
    expect(await page.locator('#list .why').count()).toBe(10);
    expect(await accessProblems(page)).toEqual([]);
    await page.goto('/cluster');
    const card = page.locator('#queue li.card');
    await card.getByRole('heading', { name: '10 executions' }).waitFor();
    expect(await card.getByText('Waiting alone is not enough').count()).toBe(1);
    expect(await accessProblems(page)).toEqual([]);
    await api.endAll();
  });

  test('W3, W9, W106: login, the folded navigation and logout work by keyboard and without script', async () => {
    const narrow = { viewport: { width: 360, height: 740 } };
    const page = await site().visit('/', { javaScriptEnabled: false, ...narrow });
    const menu = page.getByRole('navigation', { name: 'Main' });
    expect(await menu.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).press('Enter');
    await menu.getByRole('link', { name: 'Administration' }).press('Enter');
    await page.getByRole('heading', { name: 'Users' }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    await page.goto('/executions');
    expect(new URL(page.url()).pathname).toBe('/login');
  });
}
