/** A published port that collects the cookies of its visitors, and sets others, beside Berth on loopback. */
import { expect, test } from 'vitest';
import { SEEN_FILE, shellApp } from '../../../support/apps/shell-app.ts';
import type { Site } from '../../../support/browser/browser.ts';
import { PASSWORD } from '../../../support/rigs/berth.ts';

export function publishedPorts(site: () => Site): void {
  test('P317, W230: no cookie of Berth reaches a published port over plain http, and the port can set none', async () => {
    const { api, url: berth } = site().berth;
    const id = await api.run(shellApp('evil'));
    const [service] = (await api.execution(id)).services;
    const page = await site().visit(`/executions/${id}`, { expected: /./ });
    const context = page.context();
    const ofBerth = async () => (await context.cookies(berth)).map(({ name, value }) => `${name}=${value}`);
    const session = await ofBerth();
    expect(session.join()).toContain('berth_session=');
    const link = page.getByRole('link', { name: /^http:\/\/127\.0\.0\.2:\d+\/$/ });
    const { port, href } = new URL((await link.getAttribute('href')) ?? '');
    await site().reach(href);
    await site().reach(`http://127.0.0.1:${port}`);
    const opened = context.waitForEvent('page');
    await link.click();
    const evil = await opened;
    await evil.getByRole('heading', { name: 'evil' }).waitFor();
    await evil.goto(`${href}grasp`);
    // The names by which a browser may know Berth, and an application of Berth's.
    for (const name of ['127.0.0.1', 'localhost', '[::1]', '8080-1.apps.localhost'])
      await expect(evil.goto(`http://${name}:${port}/by-name`), name).rejects.toThrow(/ERR_/);
    const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
    const seen = await fetch(`${berth}/native/api/0.7/service/${service}/files?path=${SEEN_FILE}`, {
      headers: { authorization },
    });
    const heads = await seen.text();
    expect(heads).toContain('GET /grasp');
    expect(heads).not.toMatch(/by-name|cookie: *.*berth_(?!session=evil)/i);
    expect(await ofBerth()).toEqual(session);
    await page.goto('/account');
    await page.getByRole('button', { name: 'Log out' }).waitFor();
  });
}
