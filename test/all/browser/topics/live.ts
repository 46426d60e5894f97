import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { PASSWORD } from '../../../support/rigs/berth.ts';

export function live(site: () => Site): void {
  test('W11: changes by another client appear as they happen, and selected executions stay selected', async () => {
    const { api } = site().berth;
    const first = await api.submit(application(script('exec sleep 1000')));
    const page = await site().visit('/executions');
    const selected = page.locator(`input[type=checkbox][value="${first}"]`);
    await selected.check();
    const second = await api.submit(application(script('exec sleep 1000')));
    const row = page.locator('tr', { has: page.locator(`a[href="/executions/${second}"]`) });
    await row.locator('[data-state=running]').waitFor();
    expect(await selected.isChecked()).toBe(true);
    await api.terminate(second);
    await row.locator('[data-state=terminated]').waitFor();
  });

  test('W11: while the control plane is away the page shows its age, and then continues by itself', async () => {
    const { berth } = site();
    const page = await site().visit('/executions', { expected: /ERR_|502|503|Failed to load/ });
    await berth.program.killAll();
    const lost = page.locator('#connection');
    await lost.getByText(/This page is \d+ s old/).waitFor();
    await berth.start();
    await lost.waitFor({ state: 'hidden' });
    const id = await berth.api.submit(application(script('exec sleep 1000')));
    await page.locator(`a[href="/executions/${id}"]`).waitFor();
  });

  test('W225: while Berth is away no button leaves its page, which says so, and what was typed is sent later', async () => {
    const { berth } = site();
    const page = await site().visit('/start?by=description', { expected: /ERR_|400|502|503|Failed to load/ });
    const draft = page.getByLabel('Description', { exact: true });
    await draft.fill('{}');
    await berth.program.killAll();
    const start = page.getByRole('button', { name: 'Start' });
    await start.click();
    const unsent = page.locator('#unsent');
    await unsent.getByText("Berth can't be reached. Nothing was sent").waitFor();
    expect(await draft.inputValue()).toBe('{}');
    await berth.start();
    await start.click();
    await page.getByText('Nothing was submitted').waitFor();
  });

  test('W11, W166: a session that ends elsewhere leads to the login with the reason, without a lost connection, and back', async () => {
    const page = await site().visit('/executions?state=running', { expected: /40[13]/ });
    await page.evaluate(`new MutationObserver(() => {
      if (!document.getElementById('connection').hidden) sessionStorage.setItem('lost', 'shown');
    }).observe(document.getElementById('connection'), { attributes: true })`);
    const another = await page.context().newPage();
    await another.goto('/account');
    await another.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('Your session has ended.').waitFor();
    expect(await page.evaluate<string | null>('sessionStorage.getItem("lost")')).toBeNull();
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL('**/executions?state=running');
  });

  test('W11: a page that logs out does not ask again for the stream that the logout ends', async () => {
    const page = await site().visit('/account');
    const opened = page.waitForResponse(/events/);
    await page.goto('/executions');
    await opened;
    const heads: string[] = [];
    page.on('request', (request) => request.method() === 'HEAD' && heads.push(request.url()));
    await page.route('**/logout', async (route) => {
      const streamEnded = page.waitForEvent('requestfinished', (one) => /events/.test(one.url()));
      const response = await route.fetch({ maxRedirects: 0 });
      await streamEnded;
      await route.fulfill({ response });
    });
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    expect(heads).toEqual([]);
  });

  test('W11: a page that answered a form does not send the form again', async () => {
    const page = await site().visit('/start?by=description', { expected: /40[013]/ });
    await page.getByLabel('Description', { exact: true }).fill('{}');
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Nothing was submitted').waitFor();
    const sent: string[] = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));
    await page.context().clearCookies();
    await site().berth.api.submit(application(script('exec sleep 1000')));
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    expect(sent).toEqual([]);
  });
}
