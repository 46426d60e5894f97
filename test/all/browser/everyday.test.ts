/** What people who use the pages every day have stumbled over. */
import { expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import { accessProblems } from '../../support/browser/page-quality.ts';
import { application, script, service } from '../../support/fixtures/descriptions.ts';

const GIB = 1024 ** 3;

onSites(
  'everyday',
  (site) => {
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

    test('W10, W168, W169, W172: the filtered list with its reasons, the queue and the services of an execution are accessible and lead to what they name', async () => {
      const { api } = site().berth;
      const running = await api.submit(application(script('exec sleep 1000')));
      await api.waitFor(running, 'running');
      const large = { memory: { min: 4_096 * GIB, max: null }, cores: { min: null, max: null } };
      // axe-core looks at no text of a single character, such as a count below 10.
      for (let n = 0; n < 10; n++)
        await api.submit(application(service({ resources: large })), `queued ${n}`);
      const page = await site().visit('/executions?state=queued', { colorScheme: 'light' });
      await page.locator('.pills [aria-current]').getByText('10').waitFor();
      expect(await page.locator('#list .why').count()).toBe(10);
      expect(await accessProblems(page)).toEqual([]);
      await page.goto('/cluster');
      const card = page.locator('#queue li.card');
      await card.getByRole('heading', { name: '10 executions' }).waitFor();
      expect(await card.getByText('Waiting alone is not enough').count()).toBe(1);
      expect(await accessProblems(page)).toEqual([]);
      await card.getByRole('link', { name: 'queued 9' }).click();
      await page.getByRole('heading', { name: 'queued 9' }).waitFor();
      await page.goto(`/executions/${running}`);
      expect(await accessProblems(page)).toEqual([]);
      await page
        .locator('section[aria-labelledby=services-title] a[href^="/cluster/hosts/"]')
        .first()
        .click();
      await page.getByRole('heading', { name: 'Services' }).waitFor();
      expect(new URL(page.url()).pathname).toMatch(/^\/cluster\/hosts\/\d+$/);
      await api.endAll();
    });

    test('W10, W170, W171: a template is started from the form, and the form returns for editing and running it again', async () => {
      const { api } = site().berth;
      const page = await site().visit('/start');
      await page.getByRole('link', { name: 'Templates and format' }).click();
      await page.getByRole('heading', { name: 'Service: an entry of services' }).waitFor();
      expect(await accessProblems(page)).toEqual([]);
      await page.getByRole('link', { name: /Start from this.*A job/ }).click();
      await page.getByLabel('Image').fill(service().image);
      await page.getByLabel('Command').fill('true');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.waitForURL('**/executions/*');
      await page.getByRole('link', { name: 'Edit and run again' }).click();
      expect(await page.getByLabel('Environment').inputValue()).toBe('REPORT_FOR={user_name}');
      expect(await page.getByLabel('Command').inputValue()).toBe('true');
      await page.getByLabel('Command').fill('false');
      await page.getByRole('link', { name: 'JSON description' }).click();
      await page.getByText('Valid: nightly-report').waitFor();
      await page.goBack();
      await page.getByText('Your unsaved draft was restored.').waitFor();
      expect(await page.getByLabel('Command').inputValue()).toBe('false');
      await api.endAll();
    });
  },
  { kinds: ['node'] },
);
