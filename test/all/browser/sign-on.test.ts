/** Sign-on by a real browser and a real provider: policies of pages must let it go there and back. */
import type { Page } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import {
  accessProblems,
  NARROW,
  narrowAndDark,
  wideElements,
  windowProblems,
} from '../../support/browser/page-quality.ts';
import { basic, HttpClient } from '../../support/clients/http-client.ts';
import { PASSWORD } from '../../support/rigs/berth.ts';
import { HostileProvider } from '../../support/sign-on/hostile-provider.ts';
import { TestProvider } from '../../support/sign-on/test-provider.ts';

const provider = await TestProvider.start();
afterAll(() => provider.stop());
provider.accounts.ann = { preferred_username: 'ann' };
provider.next = 'ann';
/** The browser goes to the provider, whose page for a logout has a font of another host. */
const expected = new RegExp(`requested (${provider.issuer}|https://fonts)|ERR_(NAME|INTERNET)`);

/** Presses Tab until the element with this text has the focus. */
async function reachByKeyboard(page: Page, text: string): Promise<void> {
  for (let n = 0; n < 40; n++) {
    await page.keyboard.press('Tab');
    const reached = await page.evaluate<string>("document.activeElement?.textContent?.trim() ?? ''");
    if (reached === text) return;
  }
  throw new Error(`no key leads to ${text}`);
}

onSites(
  'sign-on',
  (site) => {
    test('W195: the pages of a sign-on are accessible, fit their window, do not shift and work by keyboard, in light, dark and narrow windows', async () => {
      await site().reach(provider.issuer);
      const found: Record<string, string[]> = {};
      const look = async (page: Page, name: string) => {
        const problems = await windowProblems(page, `sign-on-${name}`);
        problems.push(...(await accessProblems(page, 'colours')));
        await narrowAndDark(page);
        if (problems.length > 0) found[name] = problems;
      };
      const options = { viewport: NARROW, colorScheme: 'dark' } as const;
      const page = await site().visit('/login', { as: null, ...options, expected: /40[0139]|127/ });
      await look(page, 'login');
      await page.goto('/login/oidc/callback?code=a&state=b');
      await page.getByRole('alert').filter({ hasText: 'was not begun in this browser' }).waitFor();
      await look(page, 'error');
      const admin = await site().visit('/admin/users', { ...options, expected: /40[09]/ });
      const made = await new HttpClient(() => site().berth.url)
        .with(basic('admin', PASSWORD))
        .post('/native/api/0.7/user', { username: 'linked', role_id: 3, quota_id: 1 });
      const path = `/admin/users/${made.json<{ user_id: number }>().user_id}`;
      await admin.goto(path);
      await look(admin, 'link-form');
      await admin.getByLabel('Subject').fill('x\u200by');
      await admin.getByRole('button', { name: 'Link' }).click();
      await admin.getByText('must consist of printable').waitFor();
      await look(admin, 'link-problem');
      await admin.getByLabel('Subject').fill('a-long-subject-'.repeat(15));
      await admin.getByRole('button', { name: 'Link' }).click();
      await admin.getByText('was linked').waitFor();
      await look(admin, 'linked');
      await reachByKeyboard(admin, 'Unlink linked');
      await admin.keyboard.press('Enter');
      await admin.getByText('was unlinked').waitFor();
      expect(found).toEqual({});
    });

    test('W140, W141, H538: a visitor signs on, comes to the wanted page, and logs out here and at the provider', async () => {
      await site().reach(provider.issuer);
      const page = await site().visit('/shop', { as: null, expected, javaScriptEnabled: false });
      await page.getByRole('link', { name: 'Sign on with Example' }).click();
      await page.getByRole('button', { name: 'Log out' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/shop');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.waitForURL(`${provider.issuer}/session/end?*`);
      await page.goto('/executions');
      expect(new URL(page.url()).pathname).toBe('/login');
    });
  },
  {
    env: provider.settings({ createUsers: true }),
  },
);

const withHint = await HostileProvider.start();
afterAll(() => withHint.stop());

onSites(
  'logout',
  (site) => {
    test('W196, H647: by keyboard, a visitor signs on, logs out here, and sends the ID token to the logout of the provider', async () => {
      await site().reach(withHint.issuer);
      const page = await site().visit('/login', {
        as: null,
        expected: new RegExp(`requested ${withHint.issuer}|40[14]`),
      });
      await reachByKeyboard(page, 'Sign on with Hostile');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'ann' }).waitFor();
      await reachByKeyboard(page, 'Log out');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'You are logged out of Berth' }).waitFor();
      expect([...(await wideElements(page)), ...(await accessProblems(page))]).toEqual([]);
      await reachByKeyboard(page, 'Log out of Hostile');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Logged out there' }).waitFor();
      expect(new URL(page.url()).search).toBe('');
      const sent = new URLSearchParams(withHint.body);
      expect([sent.get('id_token_hint'), sent.get('client_id')]).toEqual([withHint.idToken, 'berth']);
      await page.goto('/executions');
      expect(new URL(page.url()).pathname).toBe('/login');
    });
  },
  { env: withHint.settings({ logoutHint: true }) },
);
