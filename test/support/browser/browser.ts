/**
 * The browser of the tests: real Chromium, with visitors that share nothing. A visit fails at its end if its
 * page logged an error or warning, or requested another origin.
 */
import { rm } from 'node:fs/promises';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import { isRoot } from '../../../agent/local/debian.ts';
import { ensurePrograms } from '../cluster/programs.ts';
import { freePort } from '../hosts/port.ts';
import { type Berth, PASSWORD, startBerth } from '../rigs/berth.ts';
import { scratchFolder } from '../tools/folder.ts';
import { ensureChromium } from './chromium.ts';
import { QuietNetwork } from './quiet-network.ts';

export const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Every browser with a window sends Accept-Language.
  '--accept-lang=en-US',
  // Names that browsers do not trust as they trust loopback: they add no Sec-Fetch-* headers over plain http.
  '--host-resolver-rules=MAP *.test 127.0.0.1',
];
/** Timeout of each step of a test. */
const TIMEOUT_MS = 60_000;

/** Characters of a page that a failed test prints. */
const MAX_SHOWN = 2_000;

export interface VisitOptions extends BrowserContextOptions {
  /** Logs in with these credentials first, by default as `admin`; null opens the page without a login. */
  as?: { username: string; password: string } | null;
  /** Errors of the page that the test causes. */
  expected?: RegExp;
}

export interface Site {
  berth: Berth;
  /** Opens `path` in a browser context of its own, which is closed after the test. */
  visit(path: string, options?: VisitOptions): Promise<Page>;
  /**
   * Lets the browser reach another server on the loopback of this machine, such as the port of a container.
   * The host of `url` is an address.
   */
  reach(url: string): Promise<void>;
}

interface Visit {
  page: Page;
  /** Prints the address and text of the page of a failed test. */
  describe(): Promise<void>;
  /** Returns the errors of the page. */
  close(): Promise<string[]>;
}

export interface SiteOptions {
  /** Settings, which may depend on the port of the control plane. */
  env?: NodeJS.ProcessEnv | ((port: number) => NodeJS.ProcessEnv);
}

/** Registers `suite` with a Berth of its own on Node, its agent on the real engine, and one Chromium. */
export function onSites(
  name: string,
  suite: (site: () => Site) => void,
  { env = {} }: SiteOptions = {},
): void {
  describe(name, () => {
    let berth: Berth;
    let browser: Browser;
    let network: QuietNetwork | undefined;
    let folder: string;
    let visits: Visit[] = [];
    beforeAll(async () => {
      folder = await scratchFolder('berth-browser-');
      const program = await ensureChromium();
      if (process.platform === 'linux' && isRoot()) {
        await ensurePrograms();
        network = await QuietNetwork.make();
      }
      const executablePath = network ? await network.wrap(program, folder) : program;
      browser = await chromium.launch({ executablePath, args: FLAGS });
      const port = await freePort();
      berth = await startBerth({
        deployment: `browser-${name}`,
        env: typeof env === 'function' ? env(port) : env,
        port,
      });
      await reach(berth.url);
    });
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') await Promise.all(visits.map((one) => one.describe()));
      const problems = (await Promise.all(visits.map((one) => one.close()))).flat();
      visits = [];
      if (problems.length > 0) throw new Error(`the page complained:\n${problems.join('\n')}`);
    });
    afterAll(async () => {
      await browser?.close();
      await network?.close();
      await rm(folder, { recursive: true, force: true });
      await berth?.api.endAll();
      await berth?.close();
    });
    const reach = async (url: string) => {
      const { port, hostname } = new URL(url);
      await network?.open(Number(port), hostname);
    };
    const visit = async (path: string, options: VisitOptions = {}): Promise<Page> => {
      const opened = await open(browser, berth.url, options);
      visits.push(opened);
      if (options.as !== null) await logIn(opened.page, options.as);
      await opened.page.goto(path);
      return opened.page;
    };
    suite(() => ({ berth, visit, reach }));
  });
}

async function open(
  browser: Browser,
  baseURL: string,
  { as: _, expected, ...options }: VisitOptions,
): Promise<Visit> {
  const context = await browser.newContext({ baseURL, ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  const problems: string[] = [];
  const record = (problem: string) => {
    if (!expected?.test(problem)) problems.push(problem);
  };
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') record(message.text());
  });
  context.on('weberror', (error) => record(String(error.error())));
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== baseURL)
      record(`it requested ${request.url()}`);
  });
  const page = await context.newPage();
  return {
    page,
    async describe() {
      const text = await page.innerText('body', { timeout: 1_000 }).catch(String);
      console.error(`The page is at ${page.url()}:\n${text.slice(0, MAX_SHOWN)}`);
    },
    async close() {
      await context.close();
      return problems;
    },
  };
}

/** Logs in by the form. */
export async function logIn(
  page: Page,
  as = { username: 'admin', password: PASSWORD },
  url = '/login',
): Promise<void> {
  await page.goto(url);
  await page.getByLabel('User name').fill(as.username);
  await page.getByLabel('Password').fill(as.password);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByRole('button', { name: 'Log out' }).waitFor();
}
