/** Owns where the API suite runs: the control plane on Node and on workerd, in the variants of the API. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Db, Value } from '../../../control-plane/store/db/db.ts';
import { HttpClient } from '../clients/http-client.ts';
import { WebClient } from '../clients/web-client.ts';
import { eventually } from '../tools/eventually.ts';
import { startNodeHost } from './host-node.ts';
import { startWorkerdHost } from './host-workerd.ts';

export type HostKind = 'node' | 'workerd';
export type Group = 'A' | 'B' | 'zoe-2018.12' | 'zoe-2017.12';

/** The group's word for what waits. */
export const queuedIn = (variant: Group): string => (variant === 'A' ? 'scheduled' : 'queued');

export interface HostOptions {
  variant: Group;
  deployment: string;
  adminPassword: string;
  /** Further settings. */
  env?: Record<string, string>;
}

/** A running control plane with data of its own. */
export interface Host extends HostOptions {
  /** Of the one on Node. */
  readonly dataDir?: string;
  /** Where it listens; another place after each start. */
  url(): string;
  /** What it has printed. */
  output(): string;
  /** Its database, as seen by another process. The caller closes it. */
  openDb(): Promise<Db>;
  /** Ends it at once, as SIGKILL does. */
  crash(): Promise<void>;
  /** Starts it again on the same data. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
  stop(): Promise<void>;
}

export interface Setup {
  kind: HostKind;
  variant: Group;
}

/** Both hosts in one variant. */
export const hostsOf = (variant: Group): readonly Setup[] => [
  { kind: 'node', variant },
  { kind: 'workerd', variant },
];

/** Both hosts in the newer group, for what the older one does not have. */
export const hosts: readonly Setup[] = hostsOf('B');

/** Both hosts in both groups; the other variants have suites of their own. */
export const everySetup: readonly Setup[] = [...hosts, ...hostsOf('A')];

export const ADMIN_PASSWORD = 'correct: horse';

export async function startHost({ kind, variant }: Setup, env: Record<string, string> = {}): Promise<Host> {
  const options = { variant, deployment: 'test', adminPassword: ADMIN_PASSWORD, env };
  const host = await (kind === 'node' ? startNodeHost(options) : startWorkerdHost(options));
  await liftCaps(host);
  return host;
}

/** For what was written behind its back: resolves when that was read, so that rows written next are not taken for it. */
export async function restart(host: Host): Promise<void> {
  await host.crash();
  await host.start();
  const anyone = new HttpClient(() => host.url());
  await eventually(async () => (await anyone.get('/readyz')).status === 200);
}

/** The seeded quota has no caps for tests: what one test leaves running would hold up the next. By a form: not every variant has it in its API. */
async function liftCaps(host: Host): Promise<void> {
  const admin = await WebClient.logIn(() => host);
  await admin.act('/admin/quotas/1', {
    name: 'default',
    concurrent_executions: '0',
    memory: '0',
    cores: '0',
  });
}

/** Changes one row behind the back of the control plane. */
export async function writeRow(host: Host, sql: string, args: readonly Value[]): Promise<void> {
  const db = await host.openDb();
  try {
    const [affected] = await db.batch([{ sql, args }]);
    if (affected !== 1) throw new Error(`${affected} rows changed by ${sql}`);
  } finally {
    await db.close();
  }
}

/** Registers `suite` once for each setup, with one control plane for all its tests; `host` is for use within them. */
export function onHosts(
  setups: readonly Setup[],
  suite: (host: () => Host, setup: Setup) => void,
  env: Record<string, string> = {},
): void {
  describe.each(setups)('$kind, group $variant', (setup) => {
    let started: Host | undefined;
    beforeAll(async () => {
      started = await startHost(setup, env);
    });
    afterAll(() => started?.stop());
    suite(() => {
      if (!started) throw new Error('the host has not started yet');
      return started;
    }, setup);
  });
}
