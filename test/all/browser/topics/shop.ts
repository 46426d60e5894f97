import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { PASSWORD } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

export function shop(site: () => Site): void {
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
}
