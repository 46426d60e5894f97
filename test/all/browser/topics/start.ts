import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { logIn, type Site } from '../../../support/browser/browser.ts';
import { application, script, service } from '../../../support/fixtures/descriptions.ts';
import { PASSWORD } from '../../../support/rigs/berth.ts';
import { eventually } from '../../../support/tools/eventually.ts';

const BY_DESCRIPTION = '/start?by=description';
const pretty = (value: unknown) => JSON.stringify(value, null, 2);
const editor = (page: Page) => page.getByLabel('Description', { exact: true });
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click();
const selectedIn = (page: Page) =>
  page.evaluate<string>(
    `(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.querySelector('textarea'))`,
  );

export function start(site: () => Site): void {
  const ids = async () => Object.keys(await site().berth.api.executions()).length;

  test('W40, W43, W44, W157: the form reports its problems, checks the placement, and starts the execution there', async () => {
    const page = await site().visit('/start', { expected: /400/ });
    await page.getByLabel('Name').first().fill('from the form');
    await page.getByLabel('Image').fill(service().image);
    await page.getByLabel('Command').fill(`sh -c 'echo "$GREETING"; sleep 600'`);
    await page.getByLabel('Memory', { exact: true }).fill('0.1');
    await page.getByLabel('Cores', { exact: true }).fill('-1');
    await page.getByLabel('Environment').fill('one\nGREETING=<b>hello</b>\nthree');
    await page.getByLabel('Cores', { exact: true }).press('Enter');
    await page.getByText('Must be at least 6 MiB, or 0 for the default').waitFor();
    await page.getByText('Must be at least 0.', { exact: true }).waitFor();
    await page.getByText('Lines 1 and 3 must be NAME=value.', { exact: true }).waitFor();
    await page.getByLabel('Memory', { exact: true }).fill('32');
    await page.getByLabel('Cores', { exact: true }).fill('0.1');
    await page.getByLabel('Environment').fill('GREETING=<b>hello</b>');
    await page.getByLabel('Number').fill('8080');
    await press(page, 'Add port');
    await page.getByLabel('Number').nth(1).fill('8081');
    await page.getByRole('button', { name: 'Remove port 1' }).click();
    expect(await page.getByLabel('Number').inputValue()).toBe('8081');
    await page.getByLabel('Number').press('Enter');
    await page.getByText('It would start at once.').waitFor();
    await page
      .getByRole('region', { name: 'Placement check' })
      .getByRole('button', { name: 'Start' })
      .click();
    await page.waitForURL('**/executions/*');
    const { api } = site().berth;
    const id = Number(page.url().split('/').at(-1));
    await api.waitFor(id, 'running');
    expect(await api.endpoints(id)).toEqual([['Port 8081', expect.stringMatching(/^http:/)]]);
    await api.endAll();
  });

  test('W41, W42, W48, W156: problems are reported while the user types, marked, and linked to their lines', async () => {
    const page = await site().visit(BY_DESCRIPTION, { expected: /400/ });
    await press(page, 'Start');
    await page.getByRole('link', { name: 'Line 1, column 1' }).waitFor();
    await page.locator('.gutter b', { hasText: /^1$/ }).waitFor();
    expect(await editor(page).getAttribute('aria-invalid')).toBe('true');
    await editor(page).fill(pretty({ ...application(service()), size: '<img src=x onerror=alert(1)>' }));
    await page.getByRole('link', { name: /Line \d+, column 3/ }).click();
    expect(await selectedIn(page)).toBe('"size": "<img src=x onerror=alert(1)>",');
    const marked = await page.locator('.gutter b').allTextContents();
    expect(marked).toEqual([
      String(
        1 +
          pretty(application(service()))
            .split('\n')
            .findIndex((one) => one.includes('"size"')),
      ),
    ]);
    expect(await editor(page).getAttribute('aria-invalid')).toBe('true');
    await page.keyboard.type('"size": 1,');
    await page.getByText('Valid: test-application has 1 essential service').waitFor();
    expect(await page.locator('.gutter b').count()).toBe(0);
  });

  test('W48: a file is opened or dropped into the text', async () => {
    const page = await site().visit(BY_DESCRIPTION);
    const file = (size: number) => ({
      name: 'application.json',
      mimeType: 'application/json',
      buffer: Buffer.from(pretty({ ...application(service()), size }).replaceAll('\n', '\r\n')),
    });
    await page.getByLabel('Open file').setInputFiles(file(7));
    await page.getByText('Valid: ').waitFor();
    expect(await editor(page).inputValue()).toBe(pretty({ ...application(service()), size: 7 }));
    await page.evaluate(`{
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['{"dropped": true}'], 'a.json'));
        document.querySelector('textarea').dispatchEvent(new DragEvent('drop', { dataTransfer, bubbles: true, cancelable: true }));
      }`);
    await page.getByText('dropped is not a known key').waitFor();
    await page.getByLabel('Open file').setInputFiles({ ...file(1), buffer: Buffer.alloc(2 ** 18 + 1, ' ') });
    await page.getByText('larger than 256 KiB').waitFor();
    expect(await editor(page).inputValue()).toBe('{"dropped": true}');
  });

  test('W47: a double click submits once', async () => {
    const page = await site().visit(BY_DESCRIPTION);
    await editor(page).fill(pretty({ ...application(service({ labels: ['nowhere'] })), name: 'only-once' }));
    const before = await ids();
    await page.getByRole('button', { name: 'Start', exact: true }).dblclick();
    await page.waitForURL('**/executions/*');
    expect(await ids()).toBe(before + 1);
    await site().berth.api.endAll();
  });

  test('W47: a draft survives a refusal and an expired session, and is gone after submission', async () => {
    const page = await site().visit(BY_DESCRIPTION, { expected: /400/ });
    const description = pretty({
      ...application(script('sleep 600', { labels: ['nowhere'] })),
      name: 'a-draft',
    });
    await editor(page).fill('{"not": "yet"}');
    await press(page, 'Start');
    await page.getByRole('alert').waitFor();
    // The script marks the line after it has saved the refused draft.
    await page.locator('.gutter b').waitFor();
    await page.goto(BY_DESCRIPTION);
    await page.getByText('Your unsaved draft was restored.').waitFor();
    expect(await editor(page).inputValue()).toBe('{"not": "yet"}');
    await editor(page).fill(description);
    await page.getByText('Valid: ').waitFor();
    await page.context().clearCookies();
    await editor(page).press('End');
    await editor(page).press('Space');
    await page.getByText('Your session has ended.').waitFor();
    await press(page, 'Start');
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill(PASSWORD);
    await press(page, 'Log in');
    await page.getByText('Your unsaved draft was restored.').waitFor();
    await eventually(async () => (await editor(page).inputValue()).trim() === description);
    await press(page, 'Start');
    await page.waitForURL('**/executions/*');
    await site().berth.api.endAll();
    await page.goto(BY_DESCRIPTION);
    expect(await editor(page).inputValue()).toBe('');
  });

  test('W47: a changed copy of an earlier execution survives a reload, for its user only', async () => {
    const { api } = site().berth;
    const id = await api.submit(application(service({ labels: ['nowhere'] })));
    await api.endAll();
    const page = await site().visit(`/start?from=${id}`);
    await page.getByLabel('Name of the execution').fill('another');
    await page.reload();
    await page.getByText('Your unsaved draft was restored.').waitFor();
    expect(await page.getByLabel('Name of the execution').inputValue()).toBe('another');
    await press(page, 'Discard draft');
    await eventually(
      async () => (await page.getByLabel('Name of the execution').inputValue()) === 'test-application',
    );
    await page.goto('/start');
    await page.getByLabel('Environment').fill('SECRET=1');
    await press(page, 'Log out');
    await page.waitForURL('**/login');
    const bob = { username: 'bob', role_id: 1, quota_id: 1 };
    const { user_id } = (await api.http.post('user', bob)).json();
    await api.http.post(`user/${user_id}`, { password: 'secret words' });
    await logIn(page, { username: 'bob', password: 'secret words' });
    await page.goto('/start');
    expect(await page.getByLabel('Environment').inputValue()).toBe('');
    expect(await page.evaluate<number>('sessionStorage.length')).toBe(0);
  });
}
