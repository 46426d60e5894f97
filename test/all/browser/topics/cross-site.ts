/** Other web sites in the browser of a user, who has given this browser Basic credentials before. */
import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { logIn, type Site } from '../../../support/browser/browser.ts';
import { type ForeignSite, startForeignSite } from '../../../support/browser/foreign-site.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { PASSWORD } from '../../../support/rigs/berth.ts';

const LOGIN = '/api/0.7/login';
/** A form whose body is JSON but for its end, which the value of the field supplies. */
const USER_FORM = (url: string, name: string) => `
<form method="post" action="${url}/api/0.7/user" enctype="text/plain">
<input name='{"username":"${name}","role_id":1,"quota_id":1,"email":"' value='"}'><button>Win</button></form>`;

export function crossSite(site: () => Site): void {
  let foreign: ForeignSite;
  beforeAll(async () => {
    foreign = await startForeignSite();
    await site().reach(`http://127.0.0.1:${foreign.port}`);
  });
  afterAll(() => foreign.close());

  const port = () => new URL(site().berth.url).port;
  /** The names of Berth and of the other site. Browsers trust loopback as they trust https. */
  const places = [
    { title: 'loopback', berth: '127.0.0.1', other: 'localhost' },
    { title: 'loopback, of the same site', berth: '127.0.0.1', other: '127.0.0.1' },
    { title: 'plain http', berth: 'berth.test', other: 'evil.test' },
    { title: 'plain http, of the same site', berth: 'www.berth.test', other: 'evil.berth.test' },
  ];
  const visit = () => site().visit('about:blank', { as: null, expected: /.*/ });
  const sessions = async (context: BrowserContext) =>
    (await context.cookies()).filter(({ name }) => name === 'berth_session');
  const usernames = async () => {
    const reply = await site().berth.api.http.get('user');
    return Object.values(reply.json<Record<string, { username: string }>>()).map(({ username }) => username);
  };

  /** Opens Berth with credentials in the URL, which the browser then remembers. */
  const remember = async (page: Page, berth: string) => {
    await page.goto(`http://admin:${encodeURIComponent(PASSWORD)}@${berth}:${port()}${LOGIN}`);
    expect(await page.innerText('body')).toContain('"username":"admin"');
    await page.goto(`http://${berth}:${port()}/api/0.7/execution`);
    expect(await page.innerText('body'), 'the browser sends the credentials again').toMatch(/^\{/);
  };

  test.each(places)(
    'H21, H320: a page of another site ($title) logs no browser in, and makes no user with its Basic credentials',
    async ({ title, berth, other }) => {
      const page = await visit();
      const own = `http://${berth}:${port()}`;
      const foreignPage = async (body: string) => {
        foreign.show(body);
        await page.goto(`http://${other}:${foreign.port}/`);
      };
      await foreignPage(`<form method="post" action="${own}/login"><input name="username" value="admin">
        <input name="password" value="${PASSWORD}"><button>Win</button></form>`);
      await page.getByRole('button').click();
      await page.getByText('The request comes from another site.').waitFor();
      expect(await sessions(page.context())).toEqual([]);
      const withCredentials = `http://admin:${encodeURIComponent(PASSWORD)}@${berth}:${port()}`;
      await foreignPage(`<a href="${withCredentials}${LOGIN}">Win</a>`);
      await page.getByRole('link').click();
      await page.getByText('"username":"admin"').waitFor();
      expect(await sessions(page.context())).toEqual([]);
      // The browser now remembers the credentials, and sends them with all that the other site includes.
      await foreignPage(`<img src="${own}${LOGIN}?image"><script src="${own}${LOGIN}?script"></script>
        <iframe src="${own}${LOGIN}?frame"></iframe>`);
      const options = "{ mode: 'no-cors', credentials: 'include' }";
      expect(
        await page.evaluate(`fetch('${own}${LOGIN}?fetch', ${options}).then((answer) => answer.type)`),
      ).toBe('opaque');
      expect(await sessions(page.context())).toEqual([]);
      await page.goto(`${own}/executions`);
      expect(new URL(page.url()).pathname).toBe('/login');
      await remember(page, berth);
      const name = `eve-${title.replace(/\W+/g, '-')}`;
      await foreignPage(USER_FORM(own, name));
      const answer = page.waitForResponse((response) => response.url().endsWith('/api/0.7/user'));
      await page.getByRole('button').click();
      expect((await answer).status()).toBe(403);
      expect(await usernames()).not.toContain(name);
    },
  );

  test('W207, H685: no page of another site opens a terminal, shows one, or has one started', async () => {
    const { api } = site().berth;
    const id = await api.run(application(script('sleep 10000')));
    const [service] = await api.services(id);
    const path = `/executions/${id}/services/${service?.id}/terminal`;
    const outcome = (origin: string) => `new Promise((done) => {
      const socket = new WebSocket('ws://${origin}/native/api/0.7/service/${service?.id}/exec', 'berth.stream.v1');
      socket.onopen = () => done('open');
      socket.onerror = () => done('refused');
    })`;
    for (const { berth, other } of places) {
      const page = await visit();
      await remember(page, berth);
      const own = `${berth}:${port()}`;
      await logIn(page, undefined, `http://${own}/login`);
      expect(await page.evaluate(outcome(own))).toBe('open');
      foreign.show(`<iframe src="http://${own}${path}"></iframe><a href="http://${own}${path}">Win</a>`);
      await page.goto(`http://${other}:${foreign.port}/`);
      expect(await page.evaluate(outcome(own)), other).toBe('refused');
      expect(await page.frames()[1]?.locator('#shell').count()).toBe(0);
      await page.getByRole('link').click();
      await page.getByText('Press Connect to open a shell.').waitFor();
    }
  });
}
