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
let axe: string | undefined;

interface Violation {
  id: string;
  impact: string;
  help: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Rules about colours, which light and dark may break differently. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];

/**
 * Serious and critical violations that axe-core finds, one sentence each. `part`: colours alone, or all else,
 * where another visit has looked at the rest.
 */
export async function accessProblems(page: Page, part?: 'colours' | 'structure'): Promise<string[]> {
  axe ??= await readFile(AXE, 'utf8');
  await page.evaluate(axe);
  const options = {
    // The pages have no frames and no media.
    ...{ preload: false, iframes: false, resultTypes: ['violations'] },
    ...(part === 'colours' && { runOnly: COLOUR_RULES }),
    ...(part === 'structure' && {
      rules: Object.fromEntries(COLOUR_RULES.map((rule) => [rule, { enabled: false }])),
    }),
  };
  const violations = await page.evaluate<Violation[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
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
const layoutShift = (page: Page): Promise<number> =>
  page.evaluate<number>(`new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value;
    }).observe({ type: 'layout-shift', buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
  })`);

/** Takes a picture of the window for the artefacts. */
async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(ARTIFACTS, { recursive: true });
  await page.screenshot({ path: join(ARTIFACTS, `${name}.png`), animations: 'disabled' });
  const shown = process.env.BERTH_PICTURES ? README_PICTURES[name] : undefined;
  if (shown === undefined) return;
  await page.screenshot({ path: join(PICTURES, shown), type: 'jpeg', quality: 70, animations: 'disabled' });
}

const WIDE = { width: 1200, height: 760 };
export const NARROW = { width: 360, height: 740 };

/** How a page must be opened that `windowProblems` looks at. */
export async function narrowAndDark(page: Page): Promise<void> {
  await page.setViewportSize(NARROW);
  await page.emulateMedia({ colorScheme: 'dark' });
}

/**
 * Problems of a page that was opened narrow and dark: there, then in a wide window, and then in light, in
 * which the page is left. Colours in light are left out.
 */
export async function windowProblems(page: Page, name: string): Promise<string[]> {
  const shift = await layoutShift(page);
  const problems = shift > 0.1 ? [`it moves by ${shift}`] : [];
  await takePicture(page, `${name}-narrow`);
  problems.push(...(await wideElements(page)), ...(await accessProblems(page, 'structure')));
  await page.setViewportSize(WIDE);
  await takePicture(page, `${name}-dark`);
  problems.push(...(await wideElements(page)), ...(await accessProblems(page, 'colours')));
  await page.emulateMedia({ colorScheme: 'light' });
  await takePicture(page, `${name}-light`);
  return problems;
}

/** Buttons that do nothing without script, and parts that only a script can use. */
export const deadControls = (page: Page): Promise<string[]> =>
  page.evaluate<string[]>(`(() => {
    const isShown = (one) => one.checkVisibility({ visibilityProperty: true });
    const dead = [...document.querySelectorAll('button')].filter(
      (one) => !one.popoverTargetElement && (one.type !== 'submit' || one.form === null),
    );
    return [...dead, ...document.querySelectorAll('.scripted')].filter(isShown).map((one) => one.outerHTML.slice(0, 120));
  })()`);

/** Presses of Tab that a page may take. */
const MAX_TABS = 400;

/**
 * Goes through the page by Tab. Returns the controls that it does not reach, in the order of the page, and
 * those on which the focus can't be seen. Where the page replaces a control meanwhile, since it shows what
 * changes, the new one counts.
 */
export async function keyboardProblems(page: Page): Promise<string[]> {
  const count = await page.evaluate<number>(`(() => {
    const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.closest('[inert]');
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')];
    const group = (one) => one.type === 'radio' && one.form?.querySelector(\`[name="\${one.name}"]:checked\`);
    const wanted = all.filter((one) =>
      isShown(one) && !one.disabled && one.tabIndex >= 0 && (!group(one) || group(one) === one));
    const reached = [];
    const unseen = [];
    document.activeElement?.blur();
    getSelection()?.removeAllRanges();
    document.addEventListener('focusin', ({ target }) => {
      reached.push(target);
      // The editor and the label of a file show the focus of what is in them.
      const isMarked = [target, target.parentElement].some((one) => {
        const { outlineStyle, boxShadow } = getComputedStyle(one);
        return outlineStyle !== 'none' || boxShadow !== 'none';
      });
      if (!isMarked) unseen.push(target);
    });
    window.walk = { wanted, reached, unseen };
    // The first Tab goes to the beginning of the page.
    document.body.tabIndex = -1;
    document.body.focus();
    document.body.removeAttribute('tabindex');
    return wanted.length;
  })()`);
  for (let pressed = 0; pressed <= Math.min(count, MAX_TABS); pressed++) await page.keyboard.press('Tab');
  return page.evaluate<string[]>(`(() => {
    const { wanted, reached, unseen } = window.walk;
    const text = (one) => one.outerHTML.slice(0, 120);
    const seen = new Set(reached);
    const inPlaceOf = ({ tagName, outerHTML }) =>
      [...document.querySelectorAll(tagName)].filter((one) => one.outerHTML === outerHTML);
    const present = new Set(wanted.flatMap((one) => (one.isConnected ? one : inPlaceOf(one))));
    return [
      ...[...present].filter((one) => !seen.has(one)).map((one) => 'Tab does not reach ' + text(one)),
      ...unseen.map((one) => 'the focus is not seen on ' + text(one)),
    ];
  })()`);
}
