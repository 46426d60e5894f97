/**
 * A provider of OpenID Connect as Berth uses it: authorisation code flow with PKCE, state and nonce. The
 * signature, issuer, audience, nonce and times of each ID token are checked.
 */
import * as oauth from 'oauth4webapi';
import { type Identity, isSubject, type SignOnSettings } from '../../core/accounts/sign-on.ts';
import { OperationError } from '../../core/model/errors.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { isSecure } from './settings.ts';

/** Clocks may differ by so much. */
const CLOCK_TOLERANCE_S = 60;
const DISCOVERED_MS = 300_000;

/** What the provider states of itself as URLs, and Berth or the browser opens. */
const ENDPOINTS = [
  'authorization_endpoint',
  'token_endpoint',
  'userinfo_endpoint',
  'jwks_uri',
  'end_session_endpoint',
] as const;

/** What Berth must remember of a sign-on between its two requests. */
export type Pending = {
  state: string;
  nonce: string;
  verifier: string;
  /** The address of the callback, which both requests to the provider must name. */
  redirectUri: string;
};

/** A user as the provider has just stated it. */
export interface Statement extends Identity {
  /** The token that states it. It has proved what it can; a logout may need it. */
  idToken: string;
  claims: Readonly<Record<string, unknown>>;
}

/** A logout at the provider. */
export interface EndSession {
  endpoint: string;
  fields: Record<string, string>;
}

export class Provider {
  readonly #settings: SignOnSettings;
  readonly #nowMs: () => number;
  readonly #client: oauth.Client;
  readonly #options: { [oauth.allowInsecureRequests]: boolean; [oauth.customFetch]: typeof boundedFetch };
  #found: { server: oauth.AuthorizationServer; untilMs: number } | undefined;

  constructor(settings: SignOnSettings, nowMs: () => number) {
    this.#settings = settings;
    this.#nowMs = nowMs;
    this.#client = { client_id: settings.clientId, [oauth.clockTolerance]: CLOCK_TOLERANCE_S };
    this.#options = {
      [oauth.allowInsecureRequests]: isLocal(settings),
      [oauth.customFetch]: boundedFetch,
    };
  }

  /** Where the browser goes, and what the callback needs. */
  async begin(redirectUri: string): Promise<{ url: string; pending: Pending }> {
    const { authorization_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined) throw unusable('it states no authorization_endpoint');
    const pending = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
      redirectUri,
    };
    const url = new URL(endpoint);
    const query = {
      client_id: this.#settings.clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: this.#settings.scope,
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    };
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    return { url: url.href, pending };
  }

  /** Exchanges the code in the callback's query. Throws `unauthenticated` if anything in it is not right. */
  async complete(query: URLSearchParams, pending: Pending): Promise<Statement> {
    // A copy has no keys from earlier: each sign-on reads the keys that the provider has now.
    const server = { ...(await this.#server()) };
    try {
      return await this.#exchange(server, query, pending);
    } catch (error) {
      throw refusalOf(error);
    }
  }

  async #exchange(
    server: oauth.AuthorizationServer,
    query: URLSearchParams,
    { state, nonce, verifier, redirectUri }: Pending,
  ): Promise<Statement> {
    const [client, options] = [this.#client, this.#options];
    const answer = oauth.validateAuthResponse(server, client, query, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      this.#clientAuth(server),
      answer,
      redirectUri,
      verifier,
      options,
    );
    const checks = { expectedNonce: nonce, requireIdToken: true };
    const result = await oauth.processAuthorizationCodeResponse(server, client, response, checks);
    await oauth.validateApplicationLevelSignature(server, response, options);
    const claims = oauth.getValidatedIdTokenClaims(result);
    if (!claims) throw unusable('it sent no ID token');
    const { sub: subject, iat: issuedS } = claims;
    if (!isSubject(subject))
      throw invalid('the claim "sub" is longer than 255 characters, or has some that are not printable');
    if (issuedS * 1_000 > this.#nowMs() + CLOCK_TOLERANCE_S * 1_000)
      throw invalid('the claim "iat" is in the future');
    const more = server.userinfo_endpoint === undefined ? {} : await this.#userInfo(server, result, subject);
    const { id_token: idToken = '' } = result;
    return { issuer: server.issuer, subject, claims: { ...more, ...claims }, idToken };
  }

  async #userInfo(
    server: oauth.AuthorizationServer,
    { access_token }: { access_token: string },
    subject: string,
  ) {
    const response = await oauth.userInfoRequest(server, this.#client, access_token, this.#options);
    return oauth.processUserInfoResponse(server, this.#client, subject, response);
  }

  /** Where a logout goes on, and with which fields; undefined if the provider has no such page. */
  async endSession(returnTo: string): Promise<EndSession | undefined> {
    const { end_session_endpoint: endpoint } = await this.#server();
    if (endpoint === undefined) return undefined;
    const fields = { client_id: this.#settings.clientId, post_logout_redirect_uri: returnTo };
    return { endpoint, fields };
  }

  #clientAuth({
    token_endpoint_auth_methods_supported: methods,
  }: oauth.AuthorizationServer): oauth.ClientAuth {
    const { clientSecret } = this.#settings;
    if (clientSecret === undefined) return oauth.None();
    const isBasic = methods === undefined || methods.includes('client_secret_basic');
    return isBasic ? oauth.ClientSecretBasic(clientSecret) : oauth.ClientSecretPost(clientSecret);
  }

  /** What the provider states of itself, read again after five minutes. */
  async #server(): Promise<oauth.AuthorizationServer> {
    if (this.#found && this.#nowMs() < this.#found.untilMs) return this.#found.server;
    try {
      const issuer = new URL(this.#settings.issuer);
      const response = await oauth.discoveryRequest(issuer, this.#options);
      const server = await oauth.processDiscoveryResponse(issuer, response);
      this.#assertStated(server.issuer);
      for (const name of ENDPOINTS) this.#checkEndpoint(name, server[name]);
      this.#found = { server, untilMs: this.#nowMs() + DISCOVERED_MS };
      return server;
    } catch (error) {
      if (error instanceof OperationError) throw error;
      if (error instanceof oauth.OperationProcessingError) this.#assertStated(issuerIn(error.cause));
      throw unusable(reasonOf(error), error);
    }
  }

  /**
   * The provider's own text is a part of the key of users, who would be others with the text of a setting
   * (H775).
   */
  #assertStated(stated: unknown): void {
    const { issuer } = this.#settings;
    if (typeof stated !== 'string' || stated === issuer) return;
    throw unusable(
      `it states its issuer as "${words(stated)}", and BERTH_OIDC_ISSUER is "${words(issuer)}": set the former`,
    );
  }

  /** The secret of the client, the code and the browser must not go where anybody on the way can read. */
  #checkEndpoint(name: string, address: string | undefined): void {
    if (address === undefined || isSecure(address, isLocal(this.#settings))) return;
    throw new Error(`its ${name} is not an https URL`);
  }
}

/** Only an issuer on this machine may be http. */
const isLocal = ({ issuer }: SignOnSettings): boolean => new URL(issuer).protocol === 'http:';

/** An error of the provider, or of how it is set up here. */
const unusable = (reason: string, cause?: unknown) =>
  new OperationError(
    'unavailable',
    `The provider of the sign-on can't be used now (${reason}). Try again, or log in by a password.`,
    { cause },
  );

function refusalOf(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  if (error instanceof oauth.AuthorizationResponseError)
    return new OperationError('unauthenticated', `The provider refused the sign-on (${words(error.error)}).`);
  const isAnswer =
    error instanceof oauth.ResponseBodyError || error instanceof oauth.WWWAuthenticateChallengeError;
  const isWrong = error instanceof oauth.OperationProcessingError || isAnswer;
  if (!isWrong && !(error instanceof oauth.UnsupportedOperationError))
    return unusable(reasonOf(error), error);
  return invalid(reasonOf(error));
}

const invalid = (reason: string) =>
  new OperationError('unauthenticated', `The sign-on is not valid: ${reason}. Begin it again.`);

/** What the provider states as its issuer, in the cause of an error about that. */
const issuerIn = (cause: unknown): unknown =>
  typeof cause === 'object' && cause !== null && 'body' in cause
    ? (cause.body as Record<string, unknown> | null)?.issuer
    : undefined;

/** Errors of the library name claims and fields, never their values. */
const reasonOf = (error: unknown): string => {
  if (error instanceof oauth.ResponseBodyError) return words(error.error);
  return error instanceof Error ? words(error.message) : 'unknown';
};

/** What a provider or its answer says, as far as a page can show it. */
const words = (text: string): string => text.replace(/[^ -~]/g, ' ').slice(0, 200);
