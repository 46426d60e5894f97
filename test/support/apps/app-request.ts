/** Requests to the web application of a test, as if the control plane had authorised them. */
import type { AppRequest } from '../../../control-plane/core/streams/app-request.ts';

/** What of the client's headers belongs to its connection with the control plane, or names the test. */
const DROPPED = ['connection', 'upgrade', 'transfer-encoding', 'keep-alive', 'x-test-app'];

export type TestApp = Pick<AppRequest, 'serviceId' | 'hostId' | 'port' | 'subscriber'>;

/** The request of a client that names the application in a header, or in a parameter for WebSockets. */
export function appRequest(client: Request): AppRequest {
  const url = new URL(client.url);
  const app: TestApp = JSON.parse(client.headers.get('x-test-app') ?? url.searchParams.get('app') ?? '');
  if (url.searchParams.has('app')) url.searchParams.delete('app');
  return {
    ...app,
    method: client.method,
    path: url.pathname + url.search,
    headers: [...client.headers].filter(([name]) => !DROPPED.includes(name)),
    doer: ADMIN_DOER,
  };
}

export const ADMIN_DOER = {
  ...{ userId: 1, username: 'admin', tokenId: null, address: null, requestId: null },
  credential: 'password',
} as const;

export const ADMIN_SUBSCRIBER: AppRequest['subscriber'] = {
  userId: 1,
  credentialVersion: 1,
  credential: { by: 'password' },
  ownerId: 1,
  use: { kind: 'use-app', shared: false },
};

export const isForApp = (client: Request): boolean =>
  client.headers.has('x-test-app') || new URL(client.url).searchParams.has('app');
