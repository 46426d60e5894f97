/**
 * Quality checks of a page: accessibility by axe-core, no overflow in a narrow window, no layout shift. Also
 * takes its picture.
 */
import { mkdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';

const ARTIFACTS = resolve(import.meta.dirname, '../../../.artifacts/web');
/** Pictures that the documents show, taken anew if BERTH_PICTURES is set. */
const PICTURES = resolve(import.meta.dirname, '../../../control-plane/web/pictures');
const README_PICTURES: Readonly<Record<string, string>> = {
  'executions-light': 'executions.jpg',
  'execution-queued-light': 'execution.jpg',
  'logs-dark': 'logs.jpg',
  'cluster-dark': 'cluster.jpg',
};

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Serious and critical violations that axe-core finds, one sentence each. */
export async function accessProblems(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const violations = await page.evaluate<Violation[]>('axe.run().then(({ violations }) => violations)');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id} (${help}): ${html}: ${failureSummary}`),
    );
}

/** Elements that are wider than the window, except those that scroll by themselves. */
export const wideElements = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    const wide = [...document.body.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > width);
    return wide.map((one) => one.outerHTML.slice(0, 120));
  })()`);

/** The cumulative layout shift since the page was opened; up to 0.1 is acceptable. */
export const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
  })`);

/** Takes a picture of the window for the artefacts. */
export async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(ARTIFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTIFACTS, `${name}.png`), animations: 'disabled' });
  const shown = process.env.BERTH_PICTURES ? README_PICTURES[name] : undefined;
  if (shown === undefined) return;
  await page.screenshot({ path: join(PICTURES, shown), type: 'jpeg', quality: 70, animations: 'disabled' });
}
