/** The programs that tests need and npm cannot install, and the tests that are left out without them. */
import { connectEngine } from '../../../agent/engine/engine-address.ts';
import { ensureEngine } from '../../../agent/local/local-engine.ts';
import { terminal } from '../../../agent/local/terminal.ts';
import { ensureImage } from '../../../examples/image.ts';
import { ensureChromium } from '../browser/chromium.ts';
import { ensureSlapd } from '../directory/slapd.ts';
import { removeKilledRuns } from '../engines/leftovers.ts';
import { ensureNotebookRoot } from '../engines/notebook-image.ts';
import { ensurePrometheus } from './prometheus.ts';
import { ensureShells } from './shells.ts';

export interface Need {
  name: string;
  /** Tests that need it, as patterns of paths. */
  tests: readonly string[];
  /** Finds or installs it. Rejects with the reason if it is not to be had. May resolve to what ends it. */
  ensure(say: (line: string) => void): Promise<(() => Promise<void>) | undefined>;
}

/** Whether tests below `path` may need it. */
export const mayNeed = (path: string, { tests }: Need): boolean =>
  tests
    .map((pattern) => pattern.replace(/[*{].*/, ''))
    .some((base) => base.startsWith(path) || path.startsWith(base));

const found =
  (ensure: (say: (line: string) => void) => Promise<unknown>) => async (say: (line: string) => void) => {
    await ensure(say);
    return undefined;
  };

export const needs: readonly Need[] = [
  {
    name: 'a Docker engine',
    tests: [
      ...['test/contract/engine/**', 'test/smoke/**'],
      'test/all/{browser,cluster,e2e,engine,install,load}/**',
    ],
    ensure: ensureOneEngine,
  },
  {
    name: 'Chromium',
    tests: ['test/smoke/pages.test.ts', 'test/all/browser/**'],
    ensure: found(ensureChromium),
  },
];

/** Needed in `npm run test:all` only. */
export const furtherNeeds: readonly Need[] = [
  {
    name: 'Prometheus',
    tests: ['test/all/hosts/operation/prometheus.test.ts'],
    ensure: found(ensurePrometheus),
  },
  {
    name: 'zsh and fish',
    tests: ['test/all/hosts/command-line/completion.test.ts'],
    ensure: found(ensureShells),
  },
  {
    name: 'slapd',
    tests: ['test/all/hosts/directory/**'],
    ensure: found(ensureSlapd),
  },
  { name: 'Jupyter', tests: ['test/all/browser/apps.test.ts'], ensure: found(ensureNotebookRoot) },
];

async function ensureOneEngine(say: (line: string) => void): Promise<(() => Promise<void>) | undefined> {
  const engine = await ensureEngine(terminal);
  process.env.DOCKER_HOST = engine.host;
  const docker = connectEngine(engine.host);
  await ensureImage(docker);
  try {
    const left = await removeKilledRuns(docker);
    if (left.length > 0) say(`Removed ${left.length} containers and networks of a run that was killed`);
  } catch (error) {
    // An engine may keep a network of a killed run until it restarts, which hinders no test.
    say(`The engine does not remove what a killed run has left: ${error}`);
  }
  return engine.started ? engine.stop : undefined;
}
