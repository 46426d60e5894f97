/**
 * Measures the web interface in Chromium: the size of its first page, and the time to show many executions.
 */
import { type Browser, chromium } from 'playwright-core';
import { FLAGS } from '../../../test/support/browser/browser.ts';
import { ensureChromium } from '../../../test/support/browser/chromium.ts';
import { Deployment } from '../deployment.ts';
import { bounded, byTurns, type Measurement } from '../figure.ts';
import { addHistory } from '../history-rows.ts';

const EXECUTIONS = 10_000;
const ROUNDS = 9;

export async function measureWeb(): Promise<Measurement[]> {
  await using deployment = await Deployment.start('bench-web', 'off');
  await using browser = await chromium.launch({ executablePath: await ensureChromium(), args: FLAGS });
  await addHistory(deployment.databaseUrl, EXECUTIONS);
  // The first request builds the assets, which happens once per release.
  await firstLoad(browser, deployment, '/executions');
  const medians = await byTurns(ROUNDS, [
    () => firstLoad(browser, deployment, '/executions'),
    () => firstLoad(browser, deployment, '/account'),
  ]);
  const { figure: bytes } = medians('bytes');
  const painted = medians('paintedMs');
  return [
    bounded('first load of the list with all its files, compressed', 'KB', bytes / 1_000, 150),
    bounded(`first list of ${EXECUTIONS}, until it is painted`, 'ms', painted, 300),
  ];
}

interface Load {
  bytes: number;
  /** From the request to the first contentful paint. */
  paintedMs: number;
}

/** Loads a page in a browser with an empty cache. */
async function firstLoad(browser: Browser, { url, cookie }: Deployment, path: string): Promise<Load> {
  await using context = await browser.newContext();
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url }]);
  const page = await context.newPage();
  await page.goto(url + path, { waitUntil: 'load' });
  return await page.evaluate<Load>(MEASURE);
}

/** Script for the page. It is a string, because its types are the browser's. */
const MEASURE = `new Promise((done) => {
  new PerformanceObserver((entries) => {
    const [first] = entries.getEntriesByName('first-contentful-paint');
    if (!first) return;
    const loads = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
    const bytes = loads.reduce((sum, load) => sum + load.encodedBodySize, 0);
    done({ bytes, paintedMs: first.startTime });
  }).observe({ type: 'paint', buffered: true });
})`;
