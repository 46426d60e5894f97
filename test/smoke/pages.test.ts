/** The web interface in Chromium, from the login to a terminal, and every page as axe-core sees it. */
import { beforeAll, expect, test } from 'vitest';
import { logIn, onSites } from '../support/browser/browser.ts';
import { accessProblems } from '../support/browser/page-quality.ts';
import { LOGIN_PAGES, PAGES, type Visits } from '../support/browser/pages.ts';
import { fillPages, openVisit, PAGE_SETTINGS } from '../support/browser/visits.ts';
import { PASSWORD } from '../support/rigs/berth.ts';
import { eventually } from '../support/tools/eventually.ts';

/** Only what hangs takes as long. */
const HANGS_MS = 120_000;

onSites(
  'e2e-smoke',
  (site) => {
    beforeAll(() => fillPages(site().berth));

    test('W1: an anonymous visitor logs in and then gets the requested page', async () => {
      const page = await site().visit('/executions?state=running', { as: null });
      expect(new URL(page.url()).pathname).toBe('/login');
      await page.getByLabel('User name').fill('admin');
      await page.getByLabel('Password').fill(PASSWORD);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Executions', exact: true }).waitFor();
      expect(new URL(page.url()).search).toBe('?state=running');
    });

    test('W30, W73, W75: an application of the shop is found by typing, filled in and started, answers, and its log is followed to its end', async () => {
      const page = await site().visit('/shop');
      await page.getByLabel('Find an application').fill('greets');
      await page.getByText('1 found').waitFor();
      expect(await page.getByRole('heading', { level: 3 }).allInnerTexts()).toEqual(['Hello']);
      await page.getByRole('link', { name: 'Hello' }).click();
      await page.getByLabel('Name of the execution').fill('from the shop');
      await page.getByLabel('Greeting').fill('<b>Hi</b>, {user_name}');
      await page.getByRole('button', { name: 'Start', exact: true }).click();
      await page.waitForURL(/\/executions\/\d+$/);
      const { api } = site().berth;
      const id = Number(new URL(page.url()).pathname.split('/').at(-1));
      expect((await api.waitFor(id, 'running', HANGS_MS)).name).toBe('from the shop');
      const answer = await eventually(async () => {
        const [[, url] = ['', '']] = await api.endpoints(id);
        return (await fetch(url)).text();
      }, HANGS_MS);
      expect(answer).toBe('<b>Hi</b>, admin\n');
      await page.goto(`/executions/${id}/logs`);
      await page.locator('#log-state').getByText('The log has ended.', { exact: true }).waitFor();
      const lines = [1, 2, 3, 4, 5].map((n) => `<b>Hi</b>, admin (${n} of 5)`);
      await eventually(async () => {
        expect(await page.locator('.log-text').allTextContents()).toEqual(lines);
        return true;
      }, HANGS_MS);
    });

    test('W202, W203: keys reach a shell in a service, and its exit code is shown', async () => {
      const page = await site().visit('/executions/1');
      await page.getByRole('link', { name: 'Terminal of front0' }).click();
      const screen = page.locator('.xterm-rows');
      const shows = (wanted: RegExp) =>
        eventually(async () => {
          expect((await screen.innerText()).replaceAll('\u00a0', ' ')).toMatch(wanted);
          return true;
        }, HANGS_MS);
      await shows(/^\/ # /m);
      await page.keyboard.type('echo grüße $((40 + 2))\n');
      await shows(/^grüße 42/m);
      await page.keyboard.type('exit 7\n');
      await page.locator('#shell-state').getByText('The command has ended with exit code 7.').waitFor();
    });

    test('W10: axe-core finds nothing serious on any page', async () => {
      const found: Record<string, string[]> = {};
      const page = await site().visit('/login', { as: null, expected: /40\d|Failed to load/ });
      const look = async (all: Readonly<Record<string, Visits>>) => {
        for (const [name, visit] of Object.values(all).flatMap((visits) => Object.entries(visits))) {
          await openVisit(page, visit);
          const problems = await accessProblems(page);
          if (problems.length > 0) found[name] = problems;
        }
      };
      await look(LOGIN_PAGES);
      await logIn(page);
      await look(PAGES);
      expect(found).toEqual({});
    });
  },
  { env: PAGE_SETTINGS },
);
