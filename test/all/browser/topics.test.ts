/** The topics of the web interface that need no settings of their own: all on one Berth, in one Chromium. */
import { tmpdir } from 'node:os';
import { afterAll, describe } from 'vitest';
import { onSites } from '../../support/browser/browser.ts';
import { admin } from './topics/admin.ts';
import { crossSite } from './topics/cross-site.ts';
import { everyday } from './topics/everyday.ts';
import { executions } from './topics/executions.ts';
import { files } from './topics/files.ts';
import { live } from './topics/live.ts';
import { logs } from './topics/logs.ts';
import { publishedPorts } from './topics/published-ports.ts';
import { shop } from './topics/shop.ts';
import { start } from './topics/start.ts';
import { terminal } from './topics/terminal.ts';

const TOPICS = {
  admin,
  crossSite,
  everyday,
  executions,
  files,
  live,
  logs,
  publishedPorts,
  shop,
  start,
  terminal,
};

onSites(
  'topics',
  (site) => {
    describe.each(Object.entries(TOPICS))('%s', (_, suite) => {
      suite(site);
      // Nothing that runs or waits reaches the next topic.
      afterAll(() => site().berth.api.endAll());
    });
  },
  { env: { BERTH_AGENT_VOLUME_ROOTS: tmpdir() } },
);
