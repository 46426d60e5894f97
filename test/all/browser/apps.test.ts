/**
 * Web applications on a host whose ports nobody can reach: one that attacks Berth and another application
 * from the browser of its user, what ends while it is open, and Debian's Jupyter notebook.
 */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SEEN_FILE, SHELL_APP_PORT, shellApp } from '../../support/apps/shell-app.ts';
import { onSites } from '../../support/browser/browser.ts';
import { HiddenHost, hiddenSettings } from '../../support/cluster/hidden-host.ts';
import { importTar } from '../../support/engines/node-base.ts';
import { ensureNotebookRoot } from '../../support/engines/notebook-image.ts';
import { application, service } from '../../support/fixtures/descriptions.ts';
import { PASSWORD } from '../../support/rigs/berth.ts';
import { eventually } from '../../support/tools/eventually.ts';
import { scratchFolder } from '../../support/tools/folder.ts';

const LOST = 'The host has lost its connection.';

interface App {
  execution: number;
  service: number;
  origin: string;
}

const NOTEBOOK_IMAGE = 'berth/notebook:1';
const NOTEBOOK_PORT = 8888;
const FOLDER = '/srv';
/** Without a login of its own, since Berth has one. */
const COMMAND = [
  ...['jupyter-notebook', '--ip=0.0.0.0', `--port=${NOTEBOOK_PORT}`, '--no-browser', '--allow-root'],
  ...[`--notebook-dir=${FOLDER}`, '--NotebookApp.token=', '--NotebookApp.password='],
].join(' ');
const NOTEBOOK = application(
  service({
    ...{ name: 'notebook', image: NOTEBOOK_IMAGE, command: COMMAND },
    environment: [['HOME', '/root']],
    ports: [
      { name: 'web', port_number: NOTEBOOK_PORT, protocol: 'tcp', url_template: 'http://{ip_port}/tree' },
    ],
  }),
);
const IMAGE_MS = 240_000;
const START_MS = 60_000;

/** Opens the WebSocket of the application, and returns its first message. `window.over`: its end. */
const OPEN_SOCKET = `new Promise((opened, failed) => {
  const socket = new WebSocket('ws://' + location.host + '/socket');
  socket.onerror = () => failed(new Error('refused'));
  window.over = new Promise((over) => { socket.onclose = ({ code, reason }) => over([code, reason]); });
  socket.onmessage = ({ data }) => opened(data);
})`;

/** Resolves to `open` or `refused`. */
const trySocket = (url: string, protocols: string[] = []) => `new Promise((done) => {
  const socket = new WebSocket(${JSON.stringify(url)}, ${JSON.stringify(protocols)});
  socket.onopen = () => done('open');
  socket.onerror = () => done('refused');
})`;

onSites(
  'apps',
  (site) => {
    let host: HiddenHost;
    let home: string;
    let victim: App;
    let evil: App;

    beforeAll(async () => {
      home = await scratchFolder('berth-home-');
      host = await HiddenHost.start(site().berth);
      [victim, evil] = [await start('victim'), await start('evil')];
    });
    afterAll(async () => {
      await site().berth.api.endAll();
      await host?.close();
      await rm(home, { recursive: true, force: true });
    });

    const port = () => new URL(site().berth.url).port;
    const berthAt = (path = '') => `http://localhost:${port()}${path}`;
    const start = async (title: string): Promise<App> => {
      const { api } = site().berth;
      const execution = await api.run(shellApp(title));
      const { services } = await api.execution(execution);
      const service = services[0] ?? 0;
      return { execution, service, origin: `http://${SHELL_APP_PORT}-${service}.apps.localhost:${port()}` };
    };
    /** Logs in at Berth, and opens the application. */
    const open = async (app: App, path = '/'): Promise<Page> =>
      site().visit(app.origin + path, { baseURL: berthAt(), expected: /./ });
    const beside = async (page: Page, url: string): Promise<Page> => {
      const other = await page.context().newPage();
      await other.goto(url);
      return other;
    };
    /** The heads of the requests that the application has got. */
    const seen = async ({ service }: App): Promise<string> => {
      const path = `/native/api/0.7/service/${service}/files?path=${SEEN_FILE}`;
      const authorization = `Basic ${Buffer.from(`admin:${PASSWORD}`).toString('base64')}`;
      const answer = await fetch(site().berth.url + path, { headers: { authorization } });
      return answer.text();
    };
    const titleOf = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();
    const berthCookies = async (page: Page) =>
      (await page.context().cookies()).filter(({ name }) => /berth_/i.test(name));

    test('H724, H710: an application behind NAT opens in the browser after a login, and its WebSocket too', async () => {
      const page = await open(victim, '/first?x=1');
      expect(page.url()).toBe(`${victim.origin}/first?x=1`);
      expect(await titleOf(page)).toBe('victim');
      expect(await page.evaluate(OPEN_SOCKET)).toBe('hello');
      const head = (await seen(victim)).split('\n').find((line) => line.startsWith('GET /first'));
      expect(head).toContain(`host: ${new URL(victim.origin).host}`);
      expect(head).not.toMatch(/berth_|authorization/i);
    });

    test('H725, H728: cookies that an application tosses at others change neither their visits nor the session', async () => {
      const page = await open(victim);
      const attacker = await beside(page, evil.origin);
      const before = await berthCookies(page);
      expect(before.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['berth_session', '__Host-berth_app']),
      );
      await attacker.evaluate(`for (const cookie of [
        'tossed=1; Domain=apps.localhost; Path=/',
        '__Host-berth_app=evil; Domain=apps.localhost; Path=/; Secure',
        '__host-berth_app=evil; Domain=apps.localhost; Path=/; Secure',
        '=__Host-berth_app=evil; Domain=apps.localhost; Path=/',
        'berth_session=evil; Domain=apps.localhost; Path=/',
        'berth_session=evil; Domain=localhost; Path=/',
        'berth_session=evil; Domain=localhost; Path=/executions',
      ]) document.cookie = cookie`);
      await attacker.goto(`${evil.origin}/grasp`);
      const kept = (await page.context().cookies()).map(
        ({ name, domain, value }) => `${name} ${domain} ${value}`,
      );
      expect(kept).toContain(`by-header ${new URL(evil.origin).hostname} 1`);
      for (const { name, domain, value } of before) expect(kept).toContain(`${name} ${domain} ${value}`);
      await page.goto(`${victim.origin}/after-tossing`);
      expect(await titleOf(page)).toBe('victim');
      await page.goto(berthAt('/executions'));
      await page.getByRole('button', { name: 'Log out' }).waitFor();
      for (const app of [victim, evil]) expect(await seen(app)).not.toMatch(/berth_/i);
    });

    test('H729, H735: no request, form, frame, socket or service worker of an application reaches another', async () => {
      const page = await open(victim);
      const attacker = await beside(page, evil.origin);
      const at = (path: string) => JSON.stringify(`${victim.origin}/attack-${path}`);
      const run = (expression: string) => attacker.evaluate(expression);
      expect(
        await run(
          `fetch(${at('fetch')}, { mode: 'no-cors', credentials: 'include' }).then(({ type }) => type)`,
        ),
      ).toBe('opaque');
      const post = `{ method: 'POST', mode: 'no-cors', credentials: 'include', body: 'x' }`;
      expect(await run(`fetch(${at('post')}, ${post}).then(({ type }) => type)`)).toBe('opaque');
      const readable = `fetch(${at('cors')}, { credentials: 'include' }).then(() => 'read', () => 'refused')`;
      expect(await run(readable)).toBe('refused');
      expect(await run(trySocket(`${victim.origin.replace('http', 'ws')}/socket-attack-`))).toBe('refused');
      const done: string[] = [];
      for (const event of ['requestfinished', 'requestfailed'] as const)
        attacker.on(event as 'requestfinished', (request) => done.push(request.url()));
      const tags = ['img', 'script', 'iframe', 'object', 'embed'];
      await run(`for (const tag of ${JSON.stringify(tags)}) {
        const element = document.createElement(tag);
        element[tag === 'object' ? 'data' : 'src'] = ${at('')} + tag;
        document.body.append(element);
      }`);
      await eventually(() => tags.every((tag) => done.includes(`${victim.origin}/attack-${tag}`)));
      for (const frame of attacker.frames().slice(1)) expect(await frame.title()).not.toBe('victim');
      const worker = `navigator.serviceWorker.register('/worker.js').then(() => 'registered', () => 'refused')`;
      expect(await run(worker)).toBe('refused');
      const answer = attacker.waitForResponse(`${victim.origin}/attack-form`);
      await run(`{
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: ${at('form')} });
        document.body.append(form);
        form.submit();
      }`);
      expect((await answer).status()).toBe(403);
      // The application gets all this from its own pages.
      await page.evaluate(
        `fetch('/own-post', { method: 'POST', body: 'x' }).then((answer) => answer.text())`,
      );
      const heads = await seen(victim);
      expect(heads).toContain('POST /own-post');
      expect(heads).not.toContain('attack-');
      expect(await seen(evil)).not.toContain('worker.js');
    });

    test('H728: pages of two applications that agree to it do not become one by document.domain', async () => {
      const attacker = await open(evil);
      const opening = attacker.waitForEvent('popup');
      await attacker.evaluate(`window.opened = window.open('${victim.origin}/opened'); undefined`);
      const popup = await opening;
      await popup.getByRole('heading', { name: 'victim' }).waitFor();
      const join = `{ try { document.domain = 'apps.localhost' } catch {} }`;
      for (const one of [attacker, popup]) await one.evaluate(join);
      const look = `(() => { try { return window.opened.document.title } catch { return 'denied' } })()`;
      expect(await attacker.evaluate(look)).toBe('denied');
    });

    test('H21, H685, H722: an application does nothing at Berth with the session of its user', async () => {
      const attacker = await open(evil);
      const run = (expression: string) => attacker.evaluate(expression);
      const at = (path: string) => JSON.stringify(berthAt(path));
      const post = `{ method: 'POST', mode: 'no-cors', credentials: 'include' }`;
      for (const path of [`/executions/${victim.execution}/terminate`, '/logout'])
        await run(`fetch(${at(path)}, ${post}).then(() => {})`);
      for (const path of [
        '/api/0.7/execution',
        `/native/api/0.7/service/${victim.service}/files?path=${SEEN_FILE}`,
      ])
        expect(
          await run(`fetch(${at(path)}, { credentials: 'include' }).then(() => 'read', () => 'refused')`),
        ).toBe('refused');
      const exec = `ws://localhost:${port()}/native/api/0.7/service/${victim.service}/exec`;
      expect(await run(trySocket(exec, ['berth.stream.v1']))).toBe('refused');
      // Nor by the address of Berth's own paths at the name of the application.
      expect(
        await run(
          trySocket(`ws://${new URL(evil.origin).host}/native/api/0.7/service/${victim.service}/exec`, [
            'berth.stream.v1',
          ]),
        ),
      ).toBe('refused');
      await run(`new Promise((done) => {
        const frame = document.createElement('iframe');
        frame.src = ${at('/executions')};
        frame.onload = done;
        document.body.append(frame);
      })`);
      expect(await attacker.frames()[1]?.getByRole('button', { name: 'Log out' }).count()).toBe(0);
      await run(`{
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: ${at(`/executions/${victim.execution}/terminate`)} });
        document.body.append(form);
        form.submit();
      }`);
      await attacker.getByText('The request comes from another site.').waitFor();
      const berth = await beside(attacker, berthAt('/executions'));
      await berth.getByRole('button', { name: 'Log out' }).waitFor();
      expect((await site().berth.api.execution(victim.execution)).status).toBe('running');
    });

    test('H717, H731: an agent that is killed ends what is open with the reason, and its pages go on by themselves', async () => {
      const page = await open(victim);
      expect(await page.evaluate(OPEN_SOCKET)).toBe('hello');
      await host.killAgent();
      expect(await page.evaluate('window.over')).toEqual([1001, LOST]);
      await page.reload();
      expect(await titleOf(page)).toBe('main0 is not up yet');
      await host.startAgent();
      await page.getByRole('heading', { name: 'victim' }).waitFor();
    });

    test('H726: the logs of Berth and of the agent have neither cookies nor tickets, nor what was asked of applications', async () => {
      const page = await open(victim, '/only-the-application-knows');
      // The probe of the login page says nothing.
      const cookies = (await berthCookies(page)).filter(({ name }) => !name.endsWith('berth_login'));
      expect(cookies.length).toBeGreaterThan(1);
      // `wrangler dev` itself prints the path of each request.
      const ofBerth = site().berth.program.output.replaceAll(/^\[wrangler:.*$/gm, '');
      const logs = ofBerth + host.output;
      for (const { value } of cookies) expect(logs).not.toContain(value);
      expect(logs).not.toMatch(/only-the-application-knows|ticket=/);
    });

    describe('a notebook', () => {
      let execution: number;
      let origin: string;
      beforeAll(async () => {
        const { api } = site().berth;
        const instructions = ['ENV PATH=/usr/sbin:/usr/bin', `WORKDIR ${FOLDER}`];
        await importTar(host.docker, await ensureNotebookRoot(), NOTEBOOK_IMAGE, instructions);
        execution = await api.run(NOTEBOOK);
        const [id] = (await api.execution(execution)).services;
        origin = `http://${NOTEBOOK_PORT}-${id}.apps.localhost:${port()}`;
      }, IMAGE_MS);

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

        const terminal = await beside(page, berthAt(`/executions/${execution}`));
        await terminal.getByRole('link', { name: 'Terminal of notebook0' }).click();
        await terminal.locator('#shell-state').getByText('Connected.', { exact: true }).waitFor();
        await terminal.keyboard.type(`cat ${FOLDER}/sum.txt`);
        await terminal.keyboard.press('Enter');
        const screen = terminal.locator('.xterm-rows');
        await eventually(async () => /^sum.42/m.test(await screen.innerText()));
        expect((await site().berth.api.execution(execution)).status).toBe('running');
      });
    });
  },
  { env: hiddenSettings },
);
