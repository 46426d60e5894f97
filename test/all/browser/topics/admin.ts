import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';

export function admin(site: () => Site): void {
  const hostRow = 'tr:has(a[href="/cluster/hosts/1"])';

  test('W81, W82: the host shows its reservations as they change, and charts of the last hour', async () => {
    const page = await site().visit('/cluster');
    await page.locator(`${hostRow} [data-state=ready]`).waitFor();
    await page.locator('[data-charts] canvas').nth(2).waitFor();
    const id = await site().berth.api.submit(application(script('exec sleep 1000')));
    await page.locator(hostRow).getByText('0.1 of', { exact: false }).waitFor();
    await page.getByText('Last hour as a table').click();
    await page.locator('#history tbody tr').first().waitFor();
    await page.locator(`${hostRow} a`).click();
    await page.locator(`a[href="/executions/${id}"]`).waitFor();
    await site().berth.api.terminate(id);
    await page.getByText('No services on this host.').waitFor();
  });

  test('W82: values that change without an event are fetched every half a minute', async () => {
    const page = await site().visit('/cluster');
    await page.clock.install();
    await page.reload();
    const refresh = page.waitForRequest((request) => request.headers()['berth-refresh'] !== undefined);
    await page.clock.fastForward(31_000);
    await refresh;
  });

  test('W85, W158: a button copies the command that adds a host', async () => {
    const page = await site().visit('/cluster', { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.getByRole('link', { name: 'Add a host' }).click();
    await page.getByLabel('Labels').fill('gpu');
    await page.getByRole('button', { name: 'Create join token' }).click();
    await page.locator('#install').waitFor();
    await page.getByRole('alert').getByText('an address that only this machine reaches').waitFor();
    // The scripts have run by then.
    await page.waitForLoadState();
    await page.getByRole('button', { name: 'Copy command' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    const copied = await page.evaluate('navigator.clipboard.readText()');
    expect(copied).toMatch(
      /^curl -fsSL http:\S+\/agent\/install\.sh \| BERTH_BUNDLE_SHA256=[0-9a-f]{64} BERTH_JOIN_TOKEN=\S+ sh$/,
    );
  });
}
