import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const NASTY = '"><img src=x onerror="document.title=1"><script>document.title=1</script>';
const GIB = 1024 ** 3;
const waiting = application(
  service({ resources: { memory: { min: 4_096 * GIB, max: null }, cores: { min: null, max: null } } }),
);
const web = application(
  script('mkdir /www && echo hello > /www/index.html && httpd -p 8080 -h /www && read -t 600 < /dev/zero', {
    ports: [
      { name: 'Front', port_number: 8080, protocol: 'tcp', url_template: 'http://{ip_port}/' },
      {
        name: NASTY,
        port_number: 8081,
        protocol: 'tcp',
        url_template: 'ssh://{ip_port}',
      },
    ],
  }),
);

export function executions(site: () => Site): void {
  test('W24: an execution is followed from start to end, and its endpoint is opened', async () => {
    const { api } = site().berth;
    const id = await api.submit(web);
    const page = await site().visit(`/executions/${id}`, {
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.locator('h1 [data-state=running]').waitFor();
    const link = page.getByRole('link', { name: /^http:\/\/127\.0\.0\.2:\d+\/$/ });
    const url = (await link.getAttribute('href')) ?? '';
    await page.getByRole('button', { name: 'Copy the URL of Front' }).click();
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(url);
    expect(await (await fetch(url)).text()).toBe('hello\n');
    expect(await page.locator('a[href^="ssh:"]').count()).toBe(0);
    page.once('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Terminate' }).click();
    await page.locator('h1 [data-state=terminated]').waitFor();
    expect(await page.getByRole('button', { name: 'Terminate' }).count()).toBe(0);
    expect(await page.title()).toContain('test-application');
    await page.getByText('It was terminated. It ran for').waitFor();
  });

  test('W25: a waiting execution explains itself, and is terminated among selected ones', async () => {
    const { api } = site().berth;
    const ids = [await api.submit(waiting), await api.submit(waiting)];
    const page = await site().visit(`/executions/${ids[0]}`);
    await page
      .getByRole('region', { name: 'Why it is waiting' })
      .getByText('Waiting alone is not enough')
      .waitFor();
    await page.goto('/executions?state=queued&name=');
    expect(await page.getByRole('button', { name: 'Terminate selected' }).isDisabled()).toBe(true);
    await page.getByLabel(`(${ids[0]})`).check();
    const later = await api.submit(waiting);
    await page.locator(`#execution-${later}`).waitFor();
    expect(await page.getByLabel(`(${ids[0]})`).isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Select all' }).click();
    page.once('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Terminate 3 selected' }).click();
    await page.getByText('3 executions are being terminated.').waitFor();
    expect(new URL(page.url()).search).toBe('?state=queued&name=');
    await page.getByText('No executions in state "queued"').waitFor();
    await page.goto('/executions?state=terminated');
    await page.getByLabel(`(${ids[0]})`).check();
    expect(await page.getByRole('button', { name: 'Terminate selected' }).isDisabled()).toBe(true);
    page.once('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Delete 1 selected' }).click();
    await page.getByText('1 execution was deleted.').waitFor();
  });

  test('W160, W161, W162: all that match, on all pages, are terminated and deleted, with the progress shown', async () => {
    const { api } = site().berth;
    await Promise.all(Array.from({ length: 102 }, () => api.submit(waiting, 'many of them')));
    const page = await site().visit('/executions?name=many');
    await page.getByRole('button', { name: 'Terminate all 102 that match' }).click();
    await page.getByText('102 executions match and can be terminated: name with "many".').waitFor();
    const shown: string[] = [];
    page.on('response', async (response) => {
      if (response.request().method() === 'POST') shown.push(`${response.status()}`);
    });
    await page.getByRole('button', { name: 'Terminate 102' }).click();
    await page.getByText('102 executions are being terminated.').waitFor();
    // The page with the progress went on by itself.
    expect(shown).toEqual(['200', '303']);
    await page.getByRole('button', { name: 'Delete all 102 that match' }).click();
    await page.getByRole('button', { name: 'Delete 102' }).click();
    await page.getByText('102 executions were deleted.').waitFor();
    await page.getByText('No matching executions').waitFor();
  });

  test('W22: names of users never run as code', async () => {
    const { api } = site().berth;
    const nasty = waiting.services.map((one) => ({
      ...one,
      labels: [NASTY],
      environment: [['A', NASTY]] as [string, string][],
    }));
    const id = await api.submit({ ...waiting, services: nasty }, NASTY);
    const page = await site().visit(`/executions?name=${encodeURIComponent(NASTY)}`, { expected: /404/ });
    await page.getByRole('link', { name: NASTY }).click();
    await page.getByRole('region', { name: 'Why it is waiting' }).waitFor();
    // The script asks for confirmation. Before it has loaded, the server would ask on a page.
    await page.waitForLoadState();
    await page.getByText('JSON as submitted').click();
    expect(await page.locator('#description').textContent()).toContain(JSON.stringify(NASTY).slice(1, -1));
    expect(await page.title()).toBe(`${NASTY} #${id} · Berth`);
    page.once('dialog', (dialog) => {
      expect(dialog.message()).toContain(NASTY);
      return dialog.accept();
    });
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByText(`Execution ${id} was deleted.`).waitFor();
  });

  test('W27: a user who deletes sees the confirmation, even if the event of the deletion arrives before the response', async () => {
    const { api } = site().berth;
    const id = await api.submit(waiting);
    const page = await site().visit(`/executions/${id}`, { expected: /404/ });
    let refreshed = 0;
    page.on('response', (response) => {
      if (response.status() === 404) refreshed += 1;
    });
    await page.route('**/delete', async (route) => {
      const response = await route.fetch({ maxRedirects: 0 });
      await eventually(() => refreshed > 0);
      await route.fulfill({ response });
    });
    page.once('dialog', (dialog) => dialog.accept());
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.waitForURL('**/executions');
    await page.getByText(`Execution ${id} was deleted.`).waitFor();
  });
}
