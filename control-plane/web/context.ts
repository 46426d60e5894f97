/** Owns what every page is given: who asks, by which session, and what the control plane can do for it. */
import type { Context as HonoContext } from 'hono';
import type { Account, Actor } from '../core/accounts/account.ts';
import type { AddressOf } from '../http/address.ts';
import type { ReadFile } from '../http/files.ts';
import type { Authentication } from '../operations/accounts/authentication.ts';
import type { Context } from '../operations/context.ts';
import type { OverQuota } from '../operations/executions/executions.ts';
import type { ShopFiles } from '../operations/shop/shop-files.ts';

export interface WebDeps extends Context {
  authentication: Authentication;
  nowMs: () => number;
  addressOf: AddressOf;
  /** What becomes of what the quota has no room for, in this variant of the API. */
  overQuota: OverQuota;
  /** Where the API is explained; undefined in variants that have no such page. */
  docsPath?: string | undefined;
  shopFiles: ShopFiles;
  /** What browser/ and berth.css were made into, by name. */
  webFile: ReadFile;
  /** Whether answers are compressed here; on workerd its host does that. */
  compresses: boolean;
  /** Told of what was not foreseen. */
  failed: (path: string, error: unknown) => void;
}

/** `account` is there on every page behind a login. */
export type WebEnv = {
  Variables: {
    actor: Actor;
    account: Account;
    deploymentName: string;
    nowMs: number;
    /** Null where there is no coordinator. */
    lastEventId: string | null;
  };
};
export type WebContext = HonoContext<WebEnv>;
