/** Hosts of the API suite: the control plane on Node and on workerd, with each variant of the API. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Db, Value } from '../../../control-plane/store/db/db.ts';
import { HttpClient } from '../clients/http-client.ts';
import { WebClient } from '../clients/web-client.ts';
import { eventually } from '../tools/eventually.ts';
import { startHostInProcess } from './host-in-process.ts';
import { startNodeHost } from './host-node.ts';
import { startWorkerdHost } from './workerd/host-workerd.ts';

/** Whether control planes are processes, as in `npm run test:all`, and not objects in this one. */
const REAL = process.env.BERTH_TEST_HOSTS === 'real';

export type HostKind = 'node' | 'workerd';
export type Group = 'A' | 'B' | 'zoe-2018.12' | 'zoe-2017.12';

/** The variant's word for a queued execution. */
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
  /** Set for the host on Node. */
  readonly dataDir?: string;
  /** Base URL, which changes with each start. */
  url(): string;
  /** Output so far. */
  output(): string;
  /** Connects to the database as another process would. The caller closes it. */
  openDb(): Promise<Db>;
  /** Kills the control plane, as SIGKILL does. */
  crash(): Promise<void>;
  /** Starts the control plane again on the same data. */
  start(): Promise<void>;
  /** Ends the control plane and removes its data. */
  stop(): Promise<void>;
}

export interface Setup {
  kind: HostKind;
  variant: Group;
}

/** Both hosts, each with a variant. */
export const onEach = (onNode: Group, onWorkerd: Group): readonly Setup[] => [
  { kind: 'node', variant: onNode },
  { kind: 'workerd', variant: onWorkerd },
];

export const hostsOf = (variant: Group): readonly Setup[] => onEach(variant, variant);

/** Both hosts with group B, for features that group A lacks. */
export const hosts: readonly Setup[] = hostsOf('B');

/** Both hosts with both groups, for suites whose answers differ between them. */
export const bothGroups: readonly Setup[] = [...hosts, ...hostsOf('A')];

/**
 * The same for suites whose answers hardly differ. In process, where Node runs with group B, this one speaks
 * for both; as processes, each host has one of the groups.
 */
export const eitherGroup: readonly Setup[] = REAL ? onEach('A', 'B') : hosts;

/** Without real hosts, those that run in this process. */
export const onlyHere = (setups: readonly Setup[]): readonly Setup[] =>
  REAL ? setups : setups.filter(({ kind }) => kind === 'node');

export const ADMIN_PASSWORD = 'correct: horse';

const starts = { 'in process': startHostInProcess, node: startNodeHost, workerd: startWorkerdHost };

export async function startHost({ kind, variant }: Setup, env: Record<string, string> = {}): Promise<Host> {
  const options = { variant, deployment: 'test', adminPassword: ADMIN_PASSWORD, env };
  const host = await starts[kind === 'node' && !REAL ? 'in process' : kind](options);
  await removeQuotaLimits(host);
  return host;
}

/**
 * Restarts the control plane after rows were written directly. Resolves when it has read those rows, so rows
 * written later cannot be taken for them.
 */
export async function restart(host: Host): Promise<void> {
  await host.crash();
  await host.start();
  const anyone = new HttpClient(() => host.url());
  await eventually(async () => (await anyone.get('/readyz')).status === 200);
}

/**
 * Removes the limits of the seeded quota, so that executions that one test leaves running cannot delay the
 * next test. Uses the form, since not every variant has quotas in its API.
 */
async function removeQuotaLimits(host: Host): Promise<void> {
  const admin = await WebClient.logIn(() => host);
  const unlimited = { concurrent_executions: '0', memory: '0', cores: '0' };
  await admin.act('/admin/quotas/1', { name: 'default', ...unlimited });
}

/** Changes one row directly in the database. The control plane does not notice. */
export async function writeRow(host: Host, sql: string, args: readonly Value[]): Promise<void> {
  const db = await host.openDb();
  try {
    const [affected] = await db.batch([{ sql, args }]);
    if (affected !== 1) throw new Error(`${affected} rows changed by ${sql}`);
  } finally {
    await db.close();
  }
}

/** Runs a statement on the database as another process would. */
export async function queryRows(host: Host, sql: string, args: readonly Value[] = []) {
  const db = await host.openDb();
  return db.query(sql, args).finally(() => db.close());
}

/** All rows of the database, as JSON by table. */
export async function allRows(host: Host): Promise<Record<string, string[]>> {
  const db = await host.openDb();
  const tables = await db.query(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%sqlite%'",
  );
  const rows: Record<string, string[]> = {};
  for (const { name } of tables)
    rows[`${name}`] = (await db.query(`SELECT * FROM "${name}"`)).map((row) => JSON.stringify(row));
  await db.close();
  return rows;
}

/**
 * Sets the start of an execution back by 3 s, after which the zoe variants show what became of it (H168). An
 * execution that has not ended gets its real start back with the next change.
 */
export const startedLongAgo = (host: Host, executionId: number): Promise<void> =>
  writeRow(host, 'UPDATE executions SET time_start_ms = time_start_ms - 3000 WHERE id = ?', [executionId]);

type Suite = (host: () => Host, setup: Setup) => void;

/**
 * Registers `suite` once for each setup, with one control plane for all its tests. `host` may be called only
 * within tests.
 */
export const onHosts = (setups: readonly Setup[], suite: Suite, env: Record<string, string> = {}): void =>
  onHostsWith(env, setups, suite);

/** The same, for control planes with these settings. */
export function onHostsWith(env: Record<string, string>, setups: readonly Setup[], suite: Suite): void {
  describe.each(onlyHere(setups))('$kind, group $variant', (setup) => {
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
