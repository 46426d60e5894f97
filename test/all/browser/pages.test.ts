/** Quality of every page, on every screen. Their pictures are in .artifacts/web. */
import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import elasticBatch from '../../../examples/shop/elastic-batch/elastic-batch.json' with { type: 'json' };
import hello from '../../../examples/shop/hello/hello.json' with { type: 'json' };
import twoTier from '../../../examples/shop/two-tier/two-tier.json' with { type: 'json' };
import { applicationSchema } from '../../../shared/application-schema.ts';
import { logIn, onSites, type VisitOptions } from '../../support/browser/browser.ts';
import {
  accessProblems,
  deadControls,
  keyboardProblems,
  layoutShift,
  takePicture,
  wideElements,
} from '../../support/browser/page-quality.ts';
import { LOGIN_PAGES, PAGES, type Visit, type Visits } from '../../support/browser/pages.ts';
import { plain } from '../../support/clients/account-client.ts';

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

async function open(page: Page, visit: Visit): Promise<void> {
  if (typeof visit === 'string') {
    await page.goto(visit);
    return;
  }
  // In the page, so that the answer is a page of this site as for a user who has sent the form.
  const answered = page.waitForNavigation({ waitUntil: 'load' });
  await page.evaluate(`{
    const { path, fields } = ${JSON.stringify(visit)};
    const form = Object.assign(document.createElement('form'), { method: 'post', action: path });
    for (const [name, value] of Object.entries(fields)) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
    }
    document.body.append(form);
    form.submit();
  }`);
  await answered;
}

onSites(
  'pages',
  (site) => {
    beforeAll(async () => {
      const { api } = site().berth;
      for (const example of [twoTier, hello, elasticBatch]) {
        await api.waitFor(await api.submit(applicationSchema.parse(example)), 'running');
      }
      // More memory than any host has.
      const [service] = hello.services;
      const resources = { ...service?.resources, memory: { min: 2 ** 44, max: null } };
      await api.submit(
        applicationSchema.parse({ ...hello, name: 'too-large', services: [{ ...service, resources }] }),
      );
      const carla = JSON.stringify({ username: 'carla', ...plain });
      expect((await api.request('user', { method: 'POST', body: carla })).status).toBe(200);
    });

    test.each(LOOKS)(
      'W10, W199, W200: every page is accessible, fits its window and does not shift ($kind)',
      async ({ kind, options, problems }) => {
        const found: Record<string, unknown[]> = {};
        const page = await site().visit('/login', { ...options, as: null, expected: /40\d|Failed to load/ });
        const look = async (all: Readonly<Record<string, Visits>>) => {
          for (const [name, visit] of Object.values(all).flatMap((visits) => Object.entries(visits))) {
            await open(page, visit);
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
  { kinds: ['node'], env: { BERTH_SECRET_KEYS: 'MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' } },
);
