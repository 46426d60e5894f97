/** Owns where the API suite runs: the control plane on Node and on workerd, in both groups of the API. */
import { afterAll, beforeAll, describe } from 'vitest';
import type { Db } from '../../control-plane/store/db.ts';
import { startNodeHost } from './host-node.ts';
import { startWorkerdHost } from './host-workerd.ts';

export type HostKind = 'node' | 'workerd';
export type Group = 'A' | 'B';

export interface HostOptions {
  variant: Group;
  deployment: string;
  adminPassword: string;
  /** Further settings. */
  env?: Record<string, string>;
}

/** A running control plane with data of its own. */
export interface Host extends HostOptions {
  readonly joinToken: string;
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

/** Both hosts in the newer group. */
export const hosts: readonly Setup[] = [
  { kind: 'node', variant: 'B' },
  { kind: 'workerd', variant: 'B' },
];

/** The same, and the older group where it costs little. */
export const hostsAndGroups: readonly Setup[] = [...hosts, { kind: 'node', variant: 'A' }];

/** For what differs between the groups. */
export const everySetup: readonly Setup[] = [...hostsAndGroups, { kind: 'workerd', variant: 'A' }];

export const ADMIN_PASSWORD = 'correct: horse';

export function startHost({ kind, variant }: Setup, env: Record<string, string> = {}): Promise<Host> {
  const options = { variant, deployment: 'test', adminPassword: ADMIN_PASSWORD, env };
  return kind === 'node' ? startNodeHost(options) : startWorkerdHost(options);
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
