/**
 * A real provider of OpenID Connect (oidc-provider) on loopback. Accounts log in there without a form. A test
 * can change its keys, and falsify its ID tokens with the key of the provider itself.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';
import { type Context, Provider } from 'oidc-provider';
import { freePort } from '../hosts/port.ts';

const CLIENT_ID = 'berth';
const CLIENT_SECRET = 'the secret of the client Berth, as long as is needed';
const CALLBACK = 'http://127.0.0.1/login/oidc/callback';
const SCOPE = 'openid profile email groups';

/** Claims by subject. */
type Accounts = Record<string, Record<string, unknown>>;

interface SigningKey {
  jwk: JWK;
  privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey'];
}

/** What a test changes in an ID token before it is signed. */
export interface Falsified {
  claims?: JWTPayload;
  /** Another key than the provider publishes. */
  key?: SigningKey;
}

export class TestProvider {
  readonly issuer: string;
  readonly #server: Server;
  #provider: Provider | undefined;
  #key: SigningKey | undefined;
  /** Subject and claims of those who have an account. */
  accounts: Accounts = {};
  /** The subject that logs in next; null: the person refuses. */
  next: string | null = null;
  falsified: Falsified | undefined;
  /** Requests so far, as method and path. */
  readonly requests: string[] = [];

  private constructor(issuer: string, server: Server) {
    this.issuer = issuer;
    this.#server = server;
  }

  static async start(): Promise<TestProvider> {
    const port = await freePort();
    const server = createServer();
    const provider = new TestProvider(`http://127.0.0.1:${port}`, server);
    server.on('request', (request, response) => provider.#answer(request, response));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    await provider.changeKey();
    return provider;
  }

  /** The settings of a control plane that uses this provider, with further fields of BERTH_OIDC_OPTIONS. */
  settings(options: object = {}): Record<string, string> {
    return {
      BERTH_OIDC_ISSUER: this.issuer,
      BERTH_OIDC_CLIENT_ID: CLIENT_ID,
      BERTH_OIDC_CLIENT_SECRET: CLIENT_SECRET,
      BERTH_OIDC_OPTIONS: JSON.stringify({ name: 'Example', scope: SCOPE, ...options }),
    };
  }

  /** From now on only the new key is published and used. */
  async changeKey(): Promise<void> {
    this.#key = await newKey();
    this.#provider = this.#build(this.#key.jwk);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', this.issuer);
    this.requests.push(`${request.method} ${pathname}`);
    if (!this.#provider) throw new Error('the provider has not started');
    if (!pathname.startsWith('/interaction/')) return this.#provider.callback()(request, response);
    const admitted = { login: { accountId: this.next }, consent: {} };
    const result = this.next === null ? { error: 'access_denied' } : admitted;
    await this.#provider.interactionFinished(request, response, result);
  }

  #build(jwk: JWK): Provider {
    const provider = new Provider(this.issuer, {
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
    provider.use(async (context, next) => {
      await next();
      const token = context.body?.id_token;
      if (context.body && this.falsified && typeof token === 'string')
        context.body.id_token = await this.#falsify(token, this.falsified);
    });
    return provider;
  }

  async #falsify(token: string, { claims, key = this.#key }: Falsified): Promise<string> {
    if (!key) throw new Error('there is no key');
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as JWTPayload;
    return new SignJWT({ ...payload, ...claims })
      .setProtectedHeader({ alg: 'RS256', kid: this.#key?.jwk.kid ?? '' })
      .sign(key.privateKey);
  }
}

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
