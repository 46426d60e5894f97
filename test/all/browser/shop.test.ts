import { expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import { PASSWORD } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';

/** Ends on SIGTERM, unlike a first process without a handler. */
const WORK = "sh -c 'trap exit TERM; sleep 1000 & wait'";

onSites('shop', (site) => {
  /** The execution that a page belongs to. */
  const idIn = (url: string): number => Number(/\/executions\/(\d+)$/.exec(new URL(url).pathname)?.[1]);

  test('W74, W78, W108: slider, number and unit follow each other, and survive an expired session', async () => {
    const page = await site().visit('/shop/elastic-batch-0');
    const memory = page.getByLabel('Memory of a worker', { exact: true });
    const unit = page.getByLabel('Unit of Memory of a worker');
    const slider = page.locator('.amount', { has: memory }).locator('input[type=range]');
    await memory.fill('32');
    expect(await slider.inputValue()).toBe('33554432');
    await slider.fill('67108864');
    expect([await memory.inputValue(), await unit.inputValue()]).toEqual(['64', 'MiB']);
    await unit.selectOption('GiB');
    await memory.fill('0.125');
    expect(await slider.inputValue()).toBe('134217728');
    await slider.fill('67108864');
    expect([await memory.inputValue(), await unit.inputValue()]).toEqual(['64', 'MiB']);
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByText('Your unsaved draft was restored.').waitFor();
    expect([await memory.inputValue(), await slider.inputValue()]).toEqual(['64', '67108864']);
    const leader = page.getByLabel('Memory of leader', { exact: true });
    await page.getByText('Resources of the other services').click();
    await leader.fill('');
    await page.getByText('Resources of the other services').click();
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await eventually(() => leader.isVisible());
  });

  test('W75, W76: without script the form reports problems, checks the placement, and starts', async () => {
    const page = await site().visit('/shop/elastic-batch-0', {
      javaScriptEnabled: false,
      expected: /400/,
    });
    expect(await page.locator('input[type=range]').first().isVisible()).toBe(false);
    await page.getByLabel('Work', { exact: true }).fill('sh -c "');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    expect(await page.getByRole('alert').innerText()).toContain('Nothing was started');
    expect(await page.getByLabel('Work', { exact: true }).getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByLabel('Work', { exact: true }).inputValue()).toBe('sh -c "');
    await page.getByLabel('Work', { exact: true }).fill(WORK);
    await page.getByRole('button', { name: 'Check placement' }).click();
    await page.getByText('It would start at once.').waitFor();
    expect(await page.getByLabel('Work', { exact: true }).inputValue()).toBe(WORK);
    await page.getByLabel('Workers', { exact: true }).fill('2');
    await page.getByLabel('Rounds').fill('2');
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForURL(/\/executions\/\d+$/);
    const { api } = site().berth;
    // It may end by itself between two looks.
    const started = await eventually(async () => {
      const found = await api.execution(idIn(page.url()));
      return (found.status === 'running' || found.status === 'terminated') && found;
    }, 60_000);
    expect(started).toMatchObject({ error_message: null, services: { length: 3 } });
    await api.endAll();
  });
});
