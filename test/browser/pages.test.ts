/** Quality of every page, on every screen. Their pictures are in .artifacts/web. */
import { beforeAll, expect, test } from 'vitest';
import elasticBatch from '../../examples/shop/elastic-batch/elastic-batch.json' with { type: 'json' };
import hello from '../../examples/shop/hello/hello.json' with { type: 'json' };
import twoTier from '../../examples/shop/two-tier/two-tier.json' with { type: 'json' };
import { applicationSchema } from '../../shared/application-schema.ts';
import { onSites, type VisitOptions } from '../support/browser/browser.ts';
import { accessProblems, layoutShift, takePicture, wideElements } from '../support/browser/page-quality.ts';

const WIDE = { width: 1200, height: 760 };
const NARROW = { width: 360, height: 740 };

/** Paths by the names of their pictures. */
const pages: Readonly<Record<string, string>> = {
  executions: '/executions',
  execution: '/executions/1',
  log: '/executions/1/logs',
  'start-form': '/start?by=form',
  'start-description': '/start?by=description',
  'start-format': '/start/format',
  shop: '/shop',
  'shop-entry': '/shop/elastic-batch-0',
  'execution-queued': '/executions/4',
  logs: '/executions/3/logs',
  usage: '/executions/1/usage',
  cluster: '/cluster',
  host: '/cluster/hosts/1',
  'host-removal': '/cluster/hosts/1/remove',
  'add-a-host': '/cluster/join',
  users: '/admin/users',
  user: '/admin/users/1',
  'user-new': '/admin/users/new',
  roles: '/admin/roles',
  role: '/admin/roles/2',
  quotas: '/admin/quotas',
  quota: '/admin/quotas/1',
  audit: '/admin/audit',
  account: '/account',
  tokens: '/account/tokens',
  secrets: '/account/secrets',
  'not-found': '/no-such-page',
};

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
    });

    /** The problems of each page; takes a picture of each. */
    const look = async (kind: string, options: VisitOptions) => {
      const page = await site().visit('/executions', { ...options, expected: /404/ });
      const found: Record<string, unknown[]> = {};
      for (const [name, path] of Object.entries(pages)) {
        await page.goto(path);
        await takePicture(page, `${name}-${kind}`);
        const shift = await layoutShift(page);
        const problems = [...(await wideElements(page)), ...(await accessProblems(page))];
        if (shift > 0.1) problems.push(`it moves by ${shift}`);
        if (problems.length > 0) found[name] = problems;
      }
      return found;
    };

    test.each([
      ['light', { viewport: WIDE, colorScheme: 'light' }],
      ['dark', { viewport: WIDE, colorScheme: 'dark' }],
      ['narrow', { viewport: NARROW, colorScheme: 'light' }],
    ] as const)(
      'W10: every page is accessible, fits its window and does not shift (%s)',
      async (kind, options) => {
        expect(await look(kind, options)).toEqual({});
      },
    );
  },
  { kinds: ['node'] },
);
