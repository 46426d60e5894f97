/** The part of oidc-provider that the tests use; the package has no types. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http';

  interface Grant {
    addOIDCScope(scope: string): void;
    save(): Promise<string>;
  }
  export interface Context {
    oidc?: {
      provider: Provider;
      client: { clientId: string };
      session: { accountId: string; grantIdFor(clientId: string): string | undefined };
    };
  }
  export class Provider {
    constructor(issuer: string, configuration: Record<string, unknown>);
    readonly Grant: {
      new (of: { clientId: string; accountId: string }): Grant;
      find(id: string): Promise<Grant>;
    };
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>;
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: Record<string, unknown>,
    ): Promise<void>;
  }
}
