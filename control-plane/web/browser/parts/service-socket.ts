/** WebSockets to services, and why the server has refused one. */
import { SUBPROTOCOL } from './service-stream.ts';

/** `path`: of this site. */
export function openSocket(path: string): WebSocket {
  const url = new URL(path, location.href);
  url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(url, SUBPROTOCOL);
}

/**
 * A sentence with the reason, which a browser does not report: the same request without an upgrade has it as
 * its answer. `what`: such as `terminal`.
 */
export async function refusalOf(path: string, what: string): Promise<string> {
  const answer = await fetch(path).catch(() => undefined);
  if (!answer) return 'Berth can not be reached. Try again.';
  if (answer.status === 401) location.reload();
  if (answer.status === 426)
    return 'The connection failed. If it does so again, a proxy before Berth passes no WebSockets.';
  const { message = answer.statusText } = await answer.json().catch(() => ({}));
  return `The ${what} was refused. ${sentence(message)}`;
}

/** Reasons of agents begin small and have no full stop. */
export const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
