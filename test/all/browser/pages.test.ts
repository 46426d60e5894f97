/** Quality of every page, on every screen. Their pictures are in .artifacts/web. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { logIn, onSites, type VisitOptions } from '../../support/browser/browser.ts';
import {
  accessProblems,
  deadControls,
  keyboardProblems,
  layoutShift,
  takePicture,
  wideElements,
} from '../../support/browser/page-quality.ts';
import { LOGIN_PAGES, PAGES, type Visits } from '../../support/browser/pages.ts';
import { fillPages, openVisit, PAGE_SETTINGS } from '../../support/browser/visits.ts';

const WIDE = { width: 1200, height: 760 };
const NARROW = { width: 360, height: 740 };
/** Some 60 visits. */
const TIMEOUT_MS = 240_000;

/** How the pages are looked at. */
interface Look {
  kind: string;
  options: VisitOptions;
  /** Beyond what is too wide. */
  problems(page: Page): Promise<string[]>;
}

async function shiftProblems(page: Page): Promise<string[]> {
  const shift = await layoutShift(page);
  return shift > 0.1 ? [`it moves by ${shift}`] : [];
}

const LOOKS: readonly Look[] = [
  {
    kind: 'light, by keyboard',
    options: { viewport: WIDE, colorScheme: 'light' },
    problems: async (page) => [
      ...(await shiftProblems(page)),
      ...(await accessProblems(page)),
      ...(await keyboardProblems(page)),
    ],
  },
  {
    // The elements are those of light.
    kind: 'dark',
    options: { viewport: WIDE, colorScheme: 'dark' },
    problems: (page) => accessProblems(page, 'colours'),
  },
  {
    kind: 'narrow',
    options: { viewport: NARROW, colorScheme: 'light' },
    problems: async (page) => [...(await shiftProblems(page)), ...(await accessProblems(page, 'structure'))],
  },
  {
    kind: 'without script, narrow and dark',
    options: { viewport: NARROW, colorScheme: 'dark', javaScriptEnabled: false },
    problems: deadControls,
  },
];

onSites(
  'pages',
  (site) => {
    beforeAll(() => fillPages(site().berth));

    test.each(LOOKS)(
      'W10, W199, W200: every page is accessible, fits its window and does not shift ($kind)',
      async ({ kind, options, problems }) => {
        const found: Record<string, unknown[]> = {};
        const page = await site().visit('/login', { ...options, as: null, expected: /40\d|Failed to load/ });
        const look = async (all: Readonly<Record<string, Visits>>) => {
          for (const [name, visit] of Object.values(all).flatMap((visits) => Object.entries(visits))) {
            await openVisit(page, visit);
            await takePicture(page, `${name}-${kind.replace(/\W.*/, '')}`);
            const wrong = [...(await wideElements(page)), ...(await problems(page))];
            if (wrong.length > 0) found[name] = wrong;
          }
        };
        await look(LOGIN_PAGES);
        await logIn(page);
        await look(PAGES);
        expect(found).toEqual({});
      },
      TIMEOUT_MS,
    );
  },
  { kinds: ['node'], env: PAGE_SETTINGS },
);
