import { expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';

onSites('login', (site) => {
  test('W2: a wrong password is reported, and the user name stays', async () => {
    const page = await site().visit('/login', { as: null, expected: /401/ });
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('a guess');
    await page.getByRole('button', { name: 'Log in' }).click();
    expect(await page.getByRole('alert').textContent()).toBe('Wrong user name or password.');
    expect(await page.getByLabel('User name').inputValue()).toBe('admin');
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
});
