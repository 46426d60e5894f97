import { expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import { application, script } from '../../support/fixtures/descriptions.ts';
import { eventually } from '../../support/tools/eventually.ts';

onSites('admin', (site) => {
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

  test('W181: what a real container uses is on the page of its execution, as charts', async () => {
    const id = await site().berth.api.submit(application(script('exec sleep 1000')));
    await site().berth.api.waitFor(id, 'running');
    const page = await site().visit(`/executions/${id}`);
    await page.getByRole('link', { name: 'Usage' }).click();
    // Where the agent only sends pulses, the page of the host makes it measure.
    await eventually(async () => {
      await page.goto('/cluster/hosts/1');
      await page.goto(`/executions/${id}/usage`);
      return (await page.locator('[data-charts] canvas').count()) === 2;
    }, 60_000);
    await page.getByText('Memory (MiB)', { exact: true }).waitFor();
    await page.getByText('B now', { exact: false }).waitFor();
    await site().berth.api.terminate(id);
  });

  test('W82: values that change without an event are fetched every half a minute', async () => {
    const page = await site().visit('/cluster');
    await page.clock.install();
    await page.reload();
    const refresh = page.waitForRequest((request) => request.headers()['berth-refresh'] !== undefined);
    await page.clock.fastForward(31_000);
    await refresh;
  });

  test('W83: a host is drained and undrained without script', async () => {
    const page = await site().visit('/cluster/hosts/1', { javaScriptEnabled: false });
    await page.getByRole('button', { name: 'Drain host' }).click();
    await page.getByText('The host is drained').waitFor();
    await page.locator('h1 [data-state=drained]').waitFor();
    await page.getByRole('button', { name: 'Accept work again' }).click();
    await page.locator('h1 [data-state=ready]').waitFor();
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

  test('W90, W91, W94, W99: a user is created by keyboard, is refused here, changes the password, and is deleted', async () => {
    const page = await site().visit('/admin/users');
    await page.getByRole('link', { name: 'New user' }).click();
    await page.getByLabel('User name').fill('ann');
    await page.getByLabel('Password').fill('a secret of ann');
    await page.keyboard.press('Enter');
    await page.getByText('User ann was created.').waitFor();
    const own = await site().visit('/admin', {
      as: { username: 'ann', password: 'a secret of ann' },
      expected: /403/,
    });
    await own.getByRole('heading', { name: 'Not allowed' }).waitFor();
    expect(await own.getByRole('link', { name: /Cluster|Administration/ }).count()).toBe(0);
    await own.getByRole('link', { name: 'ann' }).click();
    await own.getByLabel('Current password').fill('a secret of ann');
    await own.getByLabel('New password', { exact: true }).fill('another secret');
    await own.getByLabel('Confirm new password').fill('another secret');
    await own.getByRole('button', { name: 'Change password' }).click();
    await own.getByText('Your password has been changed.').waitFor();
    await page.getByRole('link', { name: 'ann', exact: true }).click();
    await page.getByRole('link', { name: 'Delete user' }).click();
    await page.getByRole('button', { name: 'Delete user' }).click();
    await page.getByText('User ann was deleted.').waitFor();
    await own.reload();
    expect(new URL(own.url()).pathname).toBe('/login');
  });
});
