/** Quality of every page, on every screen. Their pictures are in .artifacts/web. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { logIn, onSites, type VisitOptions } from '../../support/browser/browser.ts';
import {
  deadControls,
  keyboardProblems,
  NARROW,
  narrowAndDark,
  wideElements,
  windowProblems,
} from '../../support/browser/page-quality.ts';
import { LOGIN_PAGES, PAGES, type Visits } from '../../support/browser/pages.ts';
import { fillPages, openVisit, PAGE_SETTINGS } from '../../support/browser/visits.ts';

/** Some 60 visits. */
const TIMEOUT_MS = 480_000;

onSites(
  'pages',
  (site) => {
    beforeAll(() => fillPages(site().berth));

    /** Opens every page in one visitor's browser, and expects no problems of any. */
    async function lookAtAll(
      options: VisitOptions,
      problemsOf: (page: Page, name: string) => Promise<string[]>,
    ): Promise<void> {
      const found: Record<string, string[]> = {};
      const page = await site().visit('/login', { ...options, as: null, expected: /40\d|Failed to load/ });
      const look = async (all: Readonly<Record<string, Visits>>) => {
        for (const [name, visit] of Object.values(all).flatMap((visits) => Object.entries(visits))) {
          await narrowAndDark(page);
          await openVisit(page, visit);
          const problems = await problemsOf(page, name);
          if (problems.length > 0) found[name] = problems;
        }
      };
      await look(LOGIN_PAGES);
      await logIn(page);
      await look(PAGES);
      expect(found).toEqual({});
    }

    // Colours in light, and the structure of wide pages, are looked at in test/smoke.
    test(
      'W10, W199: every page is accessible in each window, fits it, does not shift, and is reached by keyboard',
      () =>
        lookAtAll({}, async (page, name) => [
          ...(await windowProblems(page, name)),
          ...(await keyboardProblems(page)),
        ]),
      TIMEOUT_MS,
    );

    test(
      'W10, W200: without script every page fits a narrow window, and shows no control that does nothing',
      () =>
        lookAtAll({ javaScriptEnabled: false, viewport: NARROW }, async (page) => [
          ...(await wideElements(page)),
          ...(await deadControls(page)),
        ]),
      TIMEOUT_MS,
    );
  },
  { env: PAGE_SETTINGS },
);
