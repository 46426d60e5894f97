/** Logs of real containers in a real browser: following, search, colours, restarts and a million lines. */
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Site } from '../../../support/browser/browser.ts';
import { application, script } from '../../../support/fixtures/descriptions.ts';
import { eventually } from '../../../support/tools/eventually.ts';

export function logs(site: () => Site): void {
  const run = (...services: ReturnType<typeof script>[]): Promise<number> =>
    site().berth.api.submit(application(...services));
  const texts = (page: Page): Promise<string[]> => page.locator('.log-text').allTextContents();
  const says = (page: Page, text: string | RegExp) =>
    page.locator('#log-state').getByText(text, { exact: true }).waitFor();
  /** Rows are drawn in an animation frame, after the state of the log is shown. */
  const shows = (page: Page, wanted: readonly string[]) =>
    eventually(async () => {
      expect(await texts(page)).toEqual(wanted);
      return true;
    });
  const lines = (page: Page, count: string) =>
    page.locator('#log-count').getByText(`${count} lines`, { exact: true }).waitFor();
  /** Creates the file that the script of a service waits for, once the service runs. */
  const touch = async (id: number, file: string, service = 'main0') => {
    const one = await eventually(async () => {
      const containers = await site().berth.containersOf(id);
      return containers.find(({ Names, State }) => State === 'running' && Names[0]?.includes(service));
    });
    const exec = await site()
      .berth.docker.getContainer(one?.Id ?? '')
      .exec({ Cmd: ['touch', file] });
    await exec.start({});
  };
  const until = (file: string): string => `while [ ! -e ${file} ]; do sleep 0.1; done`;

  test('W30, W37: a log is followed, paused and read to its end', async () => {
    const id = await run(
      script(`${until('/a')}; echo one; ${until('/b')}; echo two; ${until('/c')}; printf three`),
    );
    const page = await site().visit(`/executions/${id}/logs`);
    await says(page, 'Waiting for output.');
    await touch(id, '/a');
    await page.getByText('one', { exact: true }).waitFor();
    await says(page, 'Live.');
    await page.getByRole('button', { name: 'Pause' }).click();
    await touch(id, '/b');
    await says(page, 'Paused. 1 new line.');
    expect(await texts(page)).toEqual(['one']);
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByText('two', { exact: true }).waitFor();
    await touch(id, '/c');
    await says(page, 'The log has ended.');
    await shows(page, ['one', 'two', 'three']);
    await page.getByLabel('Times').uncheck();
    expect(await page.locator('.log-when').first().isVisible()).toBe(false);
    await page.reload();
    await says(page, 'The log has ended.');
    await shows(page, ['one', 'two', 'three']);
  });

  test('W153: a page at the end of a log stays there while its window grows and shrinks', async () => {
    const id = await run(script(`seq 1 300; ${until('/a')}; echo last`));
    const page = await site().visit(`/executions/${id}/logs`, { viewport: { width: 900, height: 420 } });
    await lines(page, '300');
    for (const height of [900, 500, 1_100]) {
      const shown = await page.locator('.log-row').count();
      await page.setViewportSize({ width: 900, height });
      await eventually(async () => (await page.locator('.log-row').count()) !== shown);
      await eventually(async () => (await texts(page)).at(-1) === '300');
      await eventually(() => page.locator('#log-end').isDisabled());
    }
    await touch(id, '/a');
    await eventually(async () => (await texts(page)).at(-1) === 'last');
  });

  test('W31: a log continues by itself where it stopped, after the control plane was away', async () => {
    // Few enough lines for one screen: others would be outside of the virtual window.
    const wait = `case $i in 4) ${until('/away')};; 8) ${until('/back')};; esac`;
    const id = await run(
      script(`i=0; while [ $i -lt 12 ]; do ${wait}; echo line $i; i=$((i+1)); done; echo stopped`),
    );
    const page = await site().visit(`/executions/${id}/logs`, { expected: /ERR_|Failed to load|50\d/ });
    await page.getByLabel('Wrap').check();
    await page.getByText('line 3', { exact: true }).waitFor();
    await site().berth.program.killAll();
    await says(
      page,
      'No connection to Berth. The log continues where it stopped once the connection is back.',
    );
    await touch(id, '/away');
    await site().berth.start();
    await page.getByText('line 7', { exact: true }).waitFor();
    await says(page, 'Live.');
    await touch(id, '/back');
    await says(page, 'The log has ended.');
    await shows(page, [...Array.from({ length: 12 }, (_, at) => `line ${at}`), 'stopped']);
  });

  test('W34: nothing in a line is HTML, colours are shown, and terminal sequences have no effect', async () => {
    const evil = `<img src=x onerror=alert(1)><script>alert(2)</script>"><b>bold</b>`;
    const id = await run(
      script(
        [
          `printf "%s\\n" "${evil.replaceAll('"', '\\"')}"`,
          'printf "\\033[31mred\\033[0m \\033[1;44mbold on blue\\033[0m \\033[38;2;1;2;3mtrue\\033[m\\n"',
          'printf "\\033]0;title\\007bell\\007\\n"',
          'printf "10%%\\r100%%\\n"',
          'head -c 1000000 /dev/zero | tr "\\000" x; echo',
        ].join('; '),
      ),
    );
    const page = await site().visit(`/executions/${id}/logs`);
    await says(page, 'The log has ended.');
    await eventually(async () => (await texts(page)).length === 5);
    const [first, second, third, fourth, last = ''] = await texts(page);
    expect([first, second]).toEqual([evil, 'red bold on blue true']);
    expect([third, fourth]).toEqual(['bell\u2407', '100%']);
    expect(await page.locator('.log-text :not(span)').count()).toBe(0);
    expect(await page.locator('.ansi-red-fg').textContent()).toBe('red');
    expect(await page.locator('.ansi-bold.ansi-blue-bg').textContent()).toBe('bold on blue');
    const colour = page.getByText('true', { exact: true });
    expect(await colour.evaluate((one) => (one as unknown as { style: { color: string } }).style.color)).toBe(
      'rgb(1, 2, 3)',
    );
    expect(last).toBe('x'.repeat(8192));
    await page.getByRole('button', { name: 'show all' }).click();
    await eventually(async () => (await texts(page)).at(-1)?.length === 1_000_000);
  });

  test('W35, W155: several services form one log, are downloaded as one file, and each line has the name of its service', async () => {
    const id = await run(
      script(`echo main one; ${until('/a')}; echo main two`),
      script(`${until('/a')}; echo side one; sleep 1000`, { name: 'side', monitor: false }),
    );
    const page = await site().visit(`/executions/${id}/logs`);
    await page.getByText('main one', { exact: true }).waitFor();
    await touch(id, '/a', 'side0');
    await page.getByText('side one', { exact: true }).waitFor();
    await page.getByText('Download', { exact: true }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'All services in one file, until now' }).click();
    const file = readFileSync(await (await downloading).path(), 'utf8');
    expect(file).toBe('==> main0 <==\nmain one\n\n==> side0 <==\nside one\n');
    await page.getByText('Download', { exact: true }).click();
    await touch(id, '/a');
    await says(page, 'The log has ended.');
    await shows(page, ['main one', 'side one', 'main two']);
    expect(await page.locator('.log-name').allTextContents()).toEqual(['main0', 'side0', 'main0']);
    await page.locator('#service-choice').selectOption('side0');
    await page.getByRole('region', { name: 'Output of side0' }).waitFor();
    await says(page, 'The log has ended.');
    await shows(page, ['side one']);
  });

  test('W223: an expression that takes for ever is stopped, and the page goes on', async () => {
    const id = await run(script(`echo ${'z'.repeat(200)}; echo abc; sleep 1000`));
    const page = await site().visit(`/executions/${id}/logs`);
    await lines(page, '2');
    await page.getByLabel('.*').check();
    const field = page.getByRole('searchbox');
    const found = page.locator('#log-found');
    await field.fill('(z+)+y');
    // The page itself answers meanwhile.
    await page.getByLabel('Wrap lines').check();
    await found.getByText('stopped: takes too long on this log', { exact: true }).waitFor();
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    await field.fill('b.$');
    await found.getByText('1 line', { exact: true }).waitFor();
    await page.locator('.log-text mark').getByText('bc', { exact: true }).waitFor();
    await field.press('Enter');
    await found.getByText('1 of 1 line', { exact: true }).waitFor();
    await field.fill('(');
    await found.getByText('invalid expression', { exact: true }).waitFor();
  });

  test('W32, W33, W154: a million lines are shown in little memory, and searched', async () => {
    const id = await run(script('seq 1 1000000'));
    const page = await site().visit(`/executions/${id}/logs`);
    await lines(page, '1,000,000');
    await says(page, 'The log has ended.');
    await eventually(async () => (await texts(page)).at(-1) === '1000000');

    await page.keyboard.press('/');
    await page.keyboard.type('99999');
    await page.locator('#log-found').getByText('19 lines', { exact: true }).waitFor();
    await page.keyboard.press('Shift+Enter');
    await page.locator('#log-found').getByText('19 of 19 lines').waitFor();
    await page.keyboard.press('Shift+Enter');
    await page.locator('.log-row.current .log-text', { hasText: /^999998$/ }).waitFor();
    expect(await page.locator('.log-row.current mark').textContent()).toBe('99999');

    // Enter at once, before the search has come that far.
    await page.evaluate(`{
      const field = document.getElementById('log-search');
      field.value = '765432';
      field.dispatchEvent(new Event('input'));
      field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
    }`);
    await page.locator('.log-row.current .log-text', { hasText: /^765432$/ }).waitFor();
    await page.locator('#log-found').getByText('1 of 1 line', { exact: true }).waitFor();

    const scroller = page.locator('#log-scroller');
    await scroller.focus();
    await page.keyboard.press('Home');
    await eventually(async () => (await texts(page))[0] === '1');
    await scroller.hover();
    await page.mouse.wheel(0, 100);
    await eventually(async () => (await texts(page))[0] === '6');
    await page.keyboard.press('PageDown');
    await eventually(async () => Number((await texts(page))[0]) > 10 && Number((await texts(page))[0]) < 40);
    await page.getByLabel('Wrap').check();
    await page.getByRole('button', { name: 'Jump to end' }).click();
    await eventually(async () => (await texts(page)).at(-1) === '1000000');
    expect(await page.locator('.log-row').count()).toBeLessThan(300);
    expect(await memoryBytes(page)).toBeLessThan(300e6);
  });
}

/** The private memory of the largest renderer process. */
async function memoryBytes(page: Page): Promise<number> {
  const session = await page.context().browser()?.newBrowserCDPSession();
  const { processInfo } = (await session?.send('SystemInfo.getProcessInfo')) ?? { processInfo: [] };
  const pages = processInfo.filter(({ type }) => type === 'renderer');
  const sizes = pages.map(
    ({ id }) => readFileSync(`/proc/${id}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)?.[1],
  );
  return Math.max(...sizes.map((kib) => Number(kib) * 1024));
}
