/** Terminals in real containers, in a real browser under the policy of the pages. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import type { Site, VisitOptions } from '../../../support/browser/browser.ts';
import { FrailLine } from '../../../support/clients/frail-line.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { eventually } from '../../../support/tools/eventually.ts';

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9';

/** What Ctrl-Shift-V would paste: text with the end of a bracketed paste and a command in it. */
const PASTE = (text: string) => `{
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', ${JSON.stringify(text)});
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
}`;

export function terminal(site: () => Site): void {
  let shared: number;
  beforeAll(async () => {
    shared = await run();
  });
  const run = async (): Promise<number> => {
    const { api } = site().berth;
    const id = await api.submit(application(script('sleep 10000')));
    await api.waitFor(id, 'running');
    return id;
  };
  const open = async (id = shared, options?: VisitOptions): Promise<Page> => {
    const page = await site().visit(`/executions/${id}`, options);
    await page.getByRole('link', { name: 'Terminal of main0' }).click();
    await shows(page, '/ # ');
    return page;
  };
  const states = (page: Page, text: string | RegExp) =>
    page.locator('#shell-state').getByText(text, { exact: true }).waitFor();
  const screen = async (page: Page): Promise<string> =>
    (await page.locator('.xterm-rows').innerText()).replaceAll('\u00a0', ' ');
  const shows = (page: Page, wanted: string | RegExp) =>
    eventually(async () => {
      expect(await screen(page)).toMatch(wanted);
      return true;
    });
  const type = async (page: Page, line: string) => {
    await page.keyboard.type(line);
    await page.keyboard.press('Enter');
  };
  const container = async (id: number) => {
    const [one] = await site().berth.containersOf(id);
    return site().berth.docker.getContainer(one?.Id ?? '');
  };
  const commands = async (id: number): Promise<string> =>
    JSON.stringify((await (await container(id)).top()).Processes);

  test('W202, W203: keys reach a shell as large as its place, and its exit code is shown', async () => {
    const page = await open(shared, { viewport: { width: 1_000, height: 700 } });
    await states(page, 'Connected.');
    await type(page, 'echo grüße 世界 $((40 + 2)); stty size');
    await shows(page, /^grüße 世界 42/m);
    const sizes = async () => (await screen(page)).match(/^\d+ \d+ *$/gm) ?? [];
    await eventually(async () => (await sizes()).length === 1);
    const [rows = 0, columns = 0] = (await sizes())[0]?.split(' ').map(Number) ?? [];
    expect(await page.locator('.xterm-rows > div').count()).toBe(rows);
    await page.setViewportSize({ width: 600, height: 600 });
    await eventually(async () => (await page.locator('.xterm-rows > div').count()) < rows);
    await type(page, 'clear; stty size');
    await eventually(async () => Number((await sizes())[0]?.split(' ')[1]) < columns);
    await type(page, 'sleep 1234');
    await eventually(async () => (await commands(shared)).includes('sleep 1234'));
    await page.keyboard.press('Control+C');
    await type(page, 'echo code $?');
    await shows(page, /^code 130/m);
    await type(page, 'exit 7');
    await states(page, 'The command has ended with exit code 7.');
    await page.getByRole('button', { name: 'Connect again' }).click();
    await states(page, 'Connected.');
    await shows(page, /^\/ # /m);
    expect(await screen(page)).not.toContain('code 130');
  });

  test('W203, W204: leaving the page ends what the shell has started, and a stopped container ends the shell with the reason', async () => {
    const id = await run();
    const page = await open(id);
    await type(page, 'sleep 4321');
    await eventually(async () => (await commands(id)).includes('sleep 4321'));
    await page.goto('/executions');
    await eventually(async () => !(await commands(id)).includes('sleep 4321'));
    expect(await commands(id)).toContain('sleep 10000');
    await page.goto(`/executions/${id}`);
    await page.getByRole('link', { name: 'Terminal of main0' }).click();
    await shows(page, '/ # ');
    await (await container(id)).kill();
    await states(page, 'The command was ended. The service has ended.');
    await page.getByRole('button', { name: 'Connect again' }).click();
    await states(page, 'The terminal was refused. The service is not running.');
  });

  test('W238: a terminal whose connection breaks off goes on in its shell, with what was printed and typed meanwhile', async () => {
    const line = await FrailLine.to(site().berth.url);
    try {
      await site().reach(line.url);
      const page = await open(shared, { baseURL: line.url, expected: /it requested|WebSocket|ERR_/ });
      await type(page, 'echo pid $$; (sleep 1; echo later) &');
      await shows(page, /^pid \d+/m);
      const [, pid] = /^pid (\d+)/m.exec(await screen(page)) ?? [];
      line.lead(NOWHERE);
      line.break();
      await states(page, 'Connection lost. Reconnecting…');
      await type(page, 'echo still $$');
      line.lead(site().berth.url);
      await states(page, 'Connected.');
      await shows(page, /later *$/m);
      await shows(page, new RegExp(`^still ${pid}`, 'm'));
    } finally {
      line.close();
    }
  });

  test('W205: the page stays usable during an endless output, and Ctrl-C ends it', async () => {
    const page = await open();
    await type(page, 'yes $((6 * 7))');
    await shows(page, /(^42 *$\s*){5}/m);
    // The page draws frames between the pieces of the output.
    await page.evaluate(`new Promise((done) => {
      let frames = 0;
      const frame = () => (++frames < 60 ? requestAnimationFrame(frame) : done());
      requestAnimationFrame(frame);
    })`);
    await page.keyboard.press('Control+C');
    await type(page, 'clear; echo after');
    await shows(page, /^after/);
  });

  test('W207: what a program prints changes only what the terminal shows', async () => {
    const page = await open();
    const title = await page.title();
    const styled = '\\033[38;2;1;2;3mexact\\033[m \\033[31mred\\033[m';
    const link = '\\033]8;;https://evil.test/\\033\\\\link\\033]8;;\\033\\\\';
    const clip = `\\033]52;c;${Buffer.from('stolen').toString('base64')}\\007`;
    await page.evaluate('navigator.clipboard.writeText = (text) => (window.copied = text)');
    const endless = ['L', 'M', 'S', 'T', 'I', 'Z', 'b'].map((final) => `\\033[2000000000${final}`).join('');
    const marks = '$(yes "$(printf "\\314\\201")" | head -n 50000 | tr -d "\\n")';
    await type(
      page,
      `clear; printf '%b' '\\033]0;evil title\\007${clip}${link} ${styled}\\033[21t\\033]52;c;?\\007${endless} end'; echo " e${marks}"`,
    );
    await shows(page, /^link exact red end/);
    await shows(page, /end e\u0301{16} *$/m);
    expect(await page.evaluate('window.copied')).toBeUndefined();
    expect(await page.title()).toBe(title);
    await page.getByText('link', { exact: true }).click({ force: true });
    expect(page.context().pages()).toHaveLength(1);
    expect(await page.locator('.xterm-rows a, .xterm-rows img').count()).toBe(0);
    const colour = await page.evaluate(
      `getComputedStyle([...document.querySelectorAll('.xterm-rows span')].find((one) => one.textContent === 'exact')).color`,
    );
    expect(colour).toBe('rgb(1, 2, 3)');
    expect(await page.evaluate('document.querySelectorAll("style").length')).toBe(0);
  });

  test('W208: the keyboard leaves the terminal, copies what is selected, and pastes no control characters', async () => {
    const page = await open();
    await page.keyboard.press('Control+M');
    expect(await page.evaluate('document.activeElement.id')).toBe('shell-reader');
    await page.keyboard.press('Space');
    await page.locator('.xterm-accessibility [role=list]').waitFor({ state: 'attached' });
    await page.keyboard.press('Tab');
    await type(page, 'clear; echo ready');
    await shows(page, /^ready/);
    await page.evaluate(PASTE('echo \u001b[201~one\u0003 two'));
    await page.keyboard.press('Enter');
    await shows(page, /^\[201~one two/m);
    await page.reload();
    await shows(page, '/ # ');
    expect(await page.getByLabel('Read output aloud').isChecked()).toBe(true);
  });
}
