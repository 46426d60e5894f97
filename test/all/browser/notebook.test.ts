/**
 * A day's work from a laptop: Debian's Jupyter notebook on a host whose ports nobody can reach, with a
 * terminal beside it, copies in both directions and a forwarded port.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import { CommandLine } from '../../support/clients/command-line.ts';
import { HiddenHost, hiddenSettings } from '../../support/cluster/hidden-host.ts';
import { ensureNotebookRoot } from '../../support/engines/notebook-image.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { PASSWORD } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const IMAGE = 'berth/notebook:1';
const PORT = 8888;
const FOLDER = '/srv';
/** Without a login of its own, since Berth has one. */
const COMMAND = [
  ...['jupyter-notebook', '--ip=0.0.0.0', `--port=${PORT}`, '--no-browser', '--allow-root'],
  ...[`--notebook-dir=${FOLDER}`, '--NotebookApp.token=', '--NotebookApp.password='],
].join(' ');
const NOTEBOOK = application(
  service({
    ...{ name: 'notebook', image: IMAGE, command: COMMAND },
    environment: [['HOME', '/root']],
    ports: [{ name: 'web', port_number: PORT, protocol: 'tcp', url_template: 'http://{ip_port}/tree' }],
  }),
);
const IMAGE_MS = 240_000;
const START_MS = 60_000;

onSites(
  'notebook',
  (site) => {
    let host: HiddenHost;
    let home: string;
    let cli: CommandLine;
    let execution: number;
    let origin: string;

    beforeAll(async () => {
      const root = await ensureNotebookRoot();
      home = await scratchFolder('berth-home-');
      const { api, url } = site().berth;
      cli = new CommandLine(home);
      host = await HiddenHost.start(site().berth);
      await host.importImage(root, IMAGE, ['ENV PATH=/usr/sbin:/usr/bin', `WORKDIR ${FOLDER}`]);
      await cli.logIn(url, PASSWORD);
      execution = await api.submit(NOTEBOOK);
      await api.waitFor(execution, 'running');
      const [id] = (await api.execution(execution)).services;
      origin = `http://${PORT}-${id}.apps.localhost:${new URL(url).port}`;
    }, IMAGE_MS);
    afterAll(async () => {
      await site().berth.api.endAll();
      await host?.close();
      await rm(home, { recursive: true, force: true });
    });

    const berthAt = (path = '') => `http://localhost:${new URL(site().berth.url).port}${path}`;

    test('H724, H710, H713: a notebook opens in the browser, computes through its WebSocket, and takes and gives files', {
      timeout: 180_000,
    }, async () => {
      // The page waits until the application answers, and goes on by itself.
      const page = await site().visit(`${origin}/tree`, { baseURL: berthAt(), expected: /./ });
      await page.locator('#new-dropdown-button').waitFor({ timeout: START_MS });

      await writeFile(join(home, 'numbers.txt'), '40\n2\n');
      await page.setInputFiles('input[type=file]', join(home, 'numbers.txt'));
      await page.locator('.upload_button').click();
      await page.getByRole('link', { name: 'numbers.txt' }).first().waitFor();

      const created = await page.evaluate<{ path: string }>(
        `fetch('/api/contents', {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-xsrftoken': /_xsrf=([^;]+)/.exec(document.cookie)[1] },
          body: JSON.stringify({ type: 'notebook' }),
        }).then((answer) => answer.json())`,
      );
      await page.goto(`${origin}/notebooks/${created.path}?kernel_name=python3`);
      await page.locator('.kernel_idle_icon').waitFor({ timeout: START_MS });
      await page.locator('.CodeMirror').first().click();
      await page.keyboard.insertText(
        "print('sum', sum(map(int, open('numbers.txt'))), file=open('sum.txt', 'w'))\n6 * 7",
      );
      await page.keyboard.press('Shift+Enter');
      await page.locator('.output_result').getByText('42', { exact: true }).waitFor({ timeout: START_MS });

      const downloading = page.waitForEvent('download');
      await page.evaluate(`Object.assign(document.createElement('a'), {
        ...{ href: '/files/sum.txt?download=1', download: '' },
      }).click()`);
      expect(await readFile(await (await downloading).path(), 'utf8')).toBe('sum 42\n');

      const { api } = site().berth;
      const beside = await page.context().newPage();
      await beside.goto(berthAt(`/executions/${execution}`));
      await beside.getByRole('link', { name: 'Terminal of notebook0' }).click();
      await beside.locator('#shell-state').getByText('Connected.', { exact: true }).waitFor();
      await beside.keyboard.type(`cat ${FOLDER}/sum.txt`);
      await beside.keyboard.press('Enter');
      const screen = beside.locator('.xterm-rows');
      await eventually(async () => /^sum.42/m.test(await screen.innerText()));
      expect((await api.execution(execution)).status).toBe('running');
    });

    test('L168, L163, L160: files of the notebook are copied in and out, and its port is forwarded', async () => {
      const place = String(execution);
      await writeFile(join(home, 'given.py'), 'answer = 42\n');
      expect(await cli.run(['cp', join(home, 'given.py'), `${place}:${FOLDER}`])).toMatchObject({ code: 0 });
      const command = cli.start(['forward', place, `0:${PORT}`]);
      const local = await eventually(() => /127\.0\.0\.1:(\d+)/.exec(command.err())?.[1]);
      const files = await (await fetch(`http://127.0.0.1:${local}/api/contents`)).json();
      const names = (files as { content: { name: string }[] }).content.map(({ name }) => name);
      expect(names).toContain('given.py');
      command.interrupt();
      expect((await command.ended).code).toBe(130);
      const python = await cli.run([
        'exec',
        place,
        '--',
        'python3',
        '-c',
        'import given; print(given.answer)',
      ]);
      expect(python).toMatchObject({ code: 0, out: '42\n' });
      expect(await cli.run(['cp', `${place}:${FOLDER}/given.py`, join(home, 'back.py')])).toMatchObject({
        code: 0,
      });
      expect(await readFile(join(home, 'back.py'), 'utf8')).toBe('answer = 42\n');
    });
  },
  { env: hiddenSettings },
);
