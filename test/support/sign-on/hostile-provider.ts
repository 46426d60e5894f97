/**
 * A provider of OpenID Connect on loopback that answers as a test says: falsely, twice, slowly or without an
 * end. It logs in `subject` without a page, and accepts any code again and again.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { JWK, JWTPayload } from 'jose';
import { SignJWT } from 'jose';
import { listenOn, portOf } from '../hosts/port.ts';
import { CLIENT_ID, newKey, settingsOf } from './test-provider.ts';

type Key = Awaited<ReturnType<typeof newKey>>;

/** What a test changes of what a proper provider does. */
export interface Script {
  discovery?: Record<string, unknown>;
  /** Changes the query with which the browser comes back. */
  comeBack?: (query: URLSearchParams) => void;
  claims?: JWTPayload;
  userinfo?: Record<string, unknown>;
  /** Makes the ID token of these claims. */
  sign?: (claims: JWTPayload) => string | Promise<string>;
  /** Answers these paths instead. */
  paths?: Record<string, (response: ServerResponse, request: IncomingMessage) => void>;
}

export class HostileProvider {
  readonly #server: Server;
  key: Key;
  subject = 'ann';
  script: Script = {};
  /** Requests since the last `forget`, as method and path. */
  requests: string[] = [];
  /** The last body that the token endpoint or the page of a logout received. */
  body = '';
  idToken = '';
  #nonces = new Map<string, string>();

  private constructor(server: Server, key: Key) {
    this.#server = server;
    this.key = key;
    server.on('request', (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<HostileProvider> {
    const server = createServer();
    await listenOn(server);
    return new HostileProvider(server, await newKey());
  }

  get issuer(): string {
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  /** The settings of a control plane that uses this provider, with further fields of BERTH_OIDC_OPTIONS. */
  settings(options: object = {}): Record<string, string> {
    return settingsOf(this.issuer, { name: 'Hostile', createUsers: true, ...options });
  }

  /** The public key that it publishes. */
  get publicKey(): JWK {
    const { kty, n, e, kid, use, alg } = this.key.jwk;
    return { kty, n, e, kid, use, alg } as JWK;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.issuer);
    this.requests.push(`${request.method} ${url.pathname}`);
    const own = this.script.paths?.[url.pathname];
    if (own) return own(response, request);
    const json = (body: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return void json(this.#discovery());
      case '/authorize':
        return this.#authorize(url.searchParams, response);
      case '/token':
        this.body = await text(request);
        return void json(await this.#tokens());
      case '/keys':
        return void json({ keys: [this.publicKey] });
      case '/userinfo':
        return void json({ sub: this.#claims('').sub, ...this.script.userinfo });
      case '/logout':
        this.body = await text(request);
        return void response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Logged out there</h1>');
      default:
        response.writeHead(404).end();
    }
  }

  #discovery() {
    const at = (path: string) => `${this.issuer}${path}`;
    return {
      ...{ issuer: this.issuer, authorization_endpoint: at('/authorize'), token_endpoint: at('/token') },
      ...{ jwks_uri: at('/keys'), userinfo_endpoint: at('/userinfo'), end_session_endpoint: at('/logout') },
      ...this.script.discovery,
    };
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const code = crypto.randomUUID();
    this.#nonces.set(code, query.get('nonce') ?? '');
    const back = new URL(query.get('redirect_uri') ?? '');
    const answer = new URLSearchParams({ code, state: query.get('state') ?? '' });
    this.script.comeBack?.(answer);
    back.search = answer.toString();
    response.writeHead(302, { location: back.href }).end();
  }

  async #tokens() {
    const code = new URLSearchParams(this.body).get('code') ?? '';
    const claims = this.#claims(this.#nonces.get(code) ?? '');
    const sign = this.script.sign ?? ((all: JWTPayload) => this.signed(all));
    this.idToken = await sign(claims);
    return { access_token: 'access', token_type: 'Bearer', id_token: this.idToken };
  }

  #claims(nonce: string): JWTPayload {
    const nowS = Math.floor(Date.now() / 1_000);
    return {
      ...{ iss: this.issuer, aud: CLIENT_ID, sub: this.subject, nonce, iat: nowS, exp: nowS + 300 },
      ...{ preferred_username: this.subject },
      ...this.script.claims,
    };
  }

  /** As a proper provider signs it. */
  signed(claims: JWTPayload, kid = this.key.jwk.kid): Promise<string> {
    const header = { alg: 'RS256', ...(kid !== undefined && { kid }) };
    return new SignJWT(claims).setProtectedHeader(header).sign(this.key.privateKey);
  }
}
