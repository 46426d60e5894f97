/** The context of every page: the user, the session and the services of the control plane. */
import type { Context as HonoContext } from 'hono';
import type { Account, Actor } from '../core/accounts/account.ts';
import type { PersonalTokenRules } from '../core/accounts/personal-token.ts';
import type { SecretRules } from '../core/accounts/secret.ts';
import type { AddressOf } from '../guard/address.ts';
import type { BodyReader } from '../guard/body-reader.ts';
import type { AnswerAnew } from '../http/answer-ahead.ts';
import type { OpenDownload } from '../http/api/route.ts';
import type { ReadFile } from '../http/files.ts';
import type { InstallSources } from '../http/install.ts';
import type { Authentication } from '../operations/accounts/authentication.ts';
import type { AppSettings } from '../operations/apps/settings.ts';
import type { Context } from '../operations/context.ts';
import type { OverQuota } from '../operations/executions/executions.ts';
import type { ShopFiles } from '../operations/shop/shop-files.ts';
import type { SignOn } from '../operations/sign-on/sign-on.ts';
import type { Gzip } from './compression.ts';

export interface WebDeps extends Context, InstallSources {
  authentication: Authentication;
  /** Answers a request from the beginning, when the answer that was made ahead can't be sent. */
  anew: AnswerAnew;
  personalTokenRules: PersonalTokenRules;
  maxSessionsPerUser: number;
  secretRules: SecretRules;
  /** Undefined if applications have neither host names nor paths. */
  apps?: AppSettings | undefined;
  /** Undefined if nobody signs on by a provider. */
  signOns: SignOn | undefined;
  addressOf: AddressOf;
  download: OpenDownload;
  bodies: BodyReader;
  /** What happens to a submission beyond the quota, as in the API. */
  overQuota: OverQuota;
  /** Path of the API documentation; undefined in variants without one. */
  docsPath?: string | undefined;
  shopFiles: ShopFiles;
  /** Reads a document for people by its name. */
  guideFile: ReadFile;
  /** Reads a generated script or style by its name. */
  webFile: ReadFile;
  /** Compresses pages; undefined on workerd, where the host does. */
  gzip?: Gzip | undefined;
  /** Reports an unexpected error. */
  failed: (path: string, error: unknown) => void;
}

/** `account` is set on every page behind a login. */
export type WebEnv = {
  Variables: {
    actor: Actor;
    account: Account;
    deploymentName: string;
    bodies: BodyReader;
    nowMs: number;
    /** In characters, of new passwords. */
    minPasswordLength: number;
    /** Null if no coordinator is available. */
    lastEventId: string | null;
  };
};
export type WebContext = HonoContext<WebEnv>;
