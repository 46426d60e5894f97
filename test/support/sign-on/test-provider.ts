/** A real provider of OpenID Connect (oidc-provider) on loopback. Accounts log in there without a form. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { type Context, Provider } from 'oidc-provider';
import { freePort } from '../hosts/port.ts';

export const CLIENT_ID = 'berth';
export const CLIENT_SECRET = 'the secret of the client Berth, as long as is needed';
const CALLBACK = 'http://127.0.0.1/login/oidc/callback';
const SCOPE = 'openid profile email groups';

/** Claims by subject. */
type Accounts = Record<string, Record<string, unknown>>;

interface SigningKey {
  jwk: JWK;
  privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
}

export class TestProvider {
  readonly issuer: string;
  readonly #server: Server;
  readonly #provider: Provider;
  /** Subject and claims of those who have an account. */
  accounts: Accounts = {};
  /** The subject that logs in next; null: the person refuses. */
  next: string | null = null;
  /** Requests so far, as method and path. */
  readonly requests: string[] = [];

  private constructor(issuer: string, server: Server, jwk: JWK) {
    this.issuer = issuer;
    this.#server = server;
    this.#provider = this.#build(jwk);
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async start(): Promise<TestProvider> {
    const port = await freePort();
    const { jwk } = await newKey();
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new TestProvider(`http://127.0.0.1:${port}`, server, jwk);
  }

  /** The settings of a control plane that uses this provider, with further fields of BERTH_OIDC_OPTIONS. */
  settings(options: object = {}): Record<string, string> {
    return settingsOf(this.issuer, { name: 'Example', scope: SCOPE, ...options });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.issuer);
    this.requests.push(`${request.method} ${pathname}`);
    if (!pathname.startsWith('/interaction/')) return this.#provider.callback()(request, response);
    const admitted = { login: { accountId: this.next }, consent: {} };
    const result = this.next === null ? { error: 'access_denied' } : admitted;
    await this.#provider.interactionFinished(request, response, result);
  }

  #build(jwk: JWK): Provider {
    return new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: CLIENT_SECRET,
          // Any port of this machine may be the callback's.
          application_type: 'native',
          redirect_uris: [CALLBACK],
          post_logout_redirect_uris: ['http://127.0.0.1/login'],
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
      ],
      claims: { openid: ['sub'], profile: ['preferred_username'], email: ['email'], groups: ['groups'] },
      scopes: ['openid', 'profile', 'email', 'groups'],
      findAccount: (_: unknown, accountId: string) =>
        this.accounts[accountId] && {
          accountId,
          claims: () => ({ sub: accountId, ...this.accounts[accountId] }),
        },
      loadExistingGrant: grantFor,
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      features: { devInteractions: { enabled: false }, rpInitiatedLogout: { enabled: true } },
      pkce: { required: () => true },
      cookies: { keys: ['a key for the cookies of tests'] },
      jwks: { keys: [jwk] },
    });
  }
}

/** The settings of a control plane that uses this provider, with these BERTH_OIDC_OPTIONS. */
export const settingsOf = (issuer: string, options: object): Record<string, string> => ({
  BERTH_OIDC_ISSUER: issuer,
  BERTH_OIDC_CLIENT_ID: CLIENT_ID,
  BERTH_OIDC_CLIENT_SECRET: CLIENT_SECRET,
  BERTH_OIDC_OPTIONS: JSON.stringify(options),
});

export async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), kid: crypto.randomUUID(), use: 'sig', alg: 'RS256' };
  return { jwk, privateKey };
}

/** Consents to whatever is asked for. */
async function grantFor({ oidc }: Context) {
  if (!oidc) throw new Error('this is not a request of the provider');
  const { provider, client, session } = oidc;
  const known = session.grantIdFor(client.clientId);
  if (known) return provider.Grant.find(known);
  const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(SCOPE);
  await grant.save();
  return grant;
}
