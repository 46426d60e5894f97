/** Sign-on by a real browser and a real provider: policies of pages must let it go there and back. */
import { afterAll, expect, test } from 'vitest';
import { onSites } from '../support/browser/browser.ts';
import { TestProvider } from '../support/sign-on/test-provider.ts';

const provider = await TestProvider.start();
afterAll(() => provider.stop());
provider.accounts.ann = { preferred_username: 'ann' };
provider.next = 'ann';
/** The browser goes to the provider, whose page for a logout has a font of another host. */
const expected = new RegExp(`requested (${provider.issuer}|https://fonts)|ERR_(NAME|INTERNET)`);

onSites(
  'sign-on',
  (site) => {
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
  { kinds: ['node'], env: { ...provider.settings(), BERTH_OIDC_CREATE_USERS: 'on' } },
);
