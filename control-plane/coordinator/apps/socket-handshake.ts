/** The handshake of a WebSocket with an application (RFC 6455, 4). */
import type { HeaderPair } from '../../../shared/streams/app-heads.ts';
import { OperationError } from '../../core/model/errors.ts';
import type { AppRequest } from '../../core/streams/app-request.ts';
import type { AppAnswer } from './app-relay.ts';

const ACCEPT_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

/** What of the client's handshake goes on. */
export interface Handshake {
  key: string;
  protocols: string | undefined;
  extensions?: string | undefined;
}

/** A handshake of the control plane's own, for a runtime that makes the one with the client itself. */
export const ownHandshake = (protocols: string | undefined): Handshake => ({
  key: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16)))),
  protocols,
});

export function withHandshake(request: AppRequest, { key, protocols, extensions }: Handshake): AppRequest {
  const kept = request.headers.filter(([name]) => !name.toLowerCase().startsWith('sec-websocket-'));
  const added: HeaderPair[] = [
    ['sec-websocket-version', '13'],
    ['sec-websocket-key', key],
  ];
  if (protocols) added.push(['sec-websocket-protocol', protocols]);
  if (extensions) added.push(['sec-websocket-extensions', extensions]);
  return { ...request, method: 'GET', headers: [...kept, ...added] };
}

/** The error for a client whose request is not one. */
export const notAHandshake = (): OperationError =>
  new OperationError('invalid', 'The request is not a handshake of WebSockets, version 13.');

/**
 * Throws OperationError unless the application has accepted the handshake, with nothing that was not offered.
 */
export async function assertAccepted({ headers }: AppAnswer, handshake: Handshake): Promise<void> {
  const headerOf = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const bytes = new TextEncoder().encode(handshake.key + ACCEPT_SUFFIX);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', bytes));
  const chosen = headerOf('sec-websocket-protocol');
  const offered = handshake.protocols?.split(',').map((one) => one.trim()) ?? [];
  const isSound =
    headerOf('sec-websocket-accept') === btoa(String.fromCharCode(...digest)) &&
    (chosen === undefined || offered.includes(chosen)) &&
    (handshake.extensions !== undefined || headerOf('sec-websocket-extensions') === undefined);
  if (!isSound)
    throw new OperationError('unavailable', 'The application does not speak the protocol of WebSockets.');
}
