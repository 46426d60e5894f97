/**
 * Checks a container by TCP or HTTP: connects to the container's own address only, follows no redirect, and
 * reads no more of an answer than its first line.
 */
import { connect, isIP } from 'node:net';
import type { HealthCheck } from '../../../shared/protocol/health.ts';
import type { Finding } from './judge.ts';

export type NetworkCheck = Extract<HealthCheck, { kind: 'http' | 'tcp' }>;

/** A first line of a sane server has a hundred bytes. */
const MAX_BYTES = 1024;

const PROBLEMS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the address cannot be reached',
  ENETUNREACH: 'the address cannot be reached',
};

export function probeNetwork(check: NetworkCheck, address: string): Promise<Finding> {
  const what = check.kind === 'http' ? `GET ${check.path} on port ${check.port}` : `port ${check.port}`;
  const passed = (detail: string): Finding => ({ result: 'passed', detail: `${what}: ${detail}` });
  const failed = (detail: string): Finding => ({ result: 'failed', detail: `${what}: ${detail}` });
  // With the host's network a container has no address of its own.
  if (isIP(address) === 0)
    return Promise.resolve(failed('the container has no address of its own; use a command instead'));
  return new Promise((resolve) => {
    let text = '';
    const socket = connect({ host: address, port: check.port });
    const end = (finding: Finding) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(finding);
    };
    const timer = setTimeout(
      () => end(failed(`no answer within ${check.timeoutMs / 1_000} s`)),
      check.timeoutMs,
    );
    const verdict = (status: number) => {
      const isGood = status >= 200 && status < 400;
      end((isGood ? passed : failed)(`status ${status}`));
    };
    socket.on('connect', () => {
      if (check.kind === 'tcp') return end(passed('open'));
      socket.write(requestText(check.path, address, check.port));
    });
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1', 0, MAX_BYTES - text.length);
      const [, status] = /^HTTP\/1\.\d (\d{3})[ \r]/.exec(text) ?? [];
      if (status !== undefined) verdict(Number(status));
      else if (text.length >= MAX_BYTES || text.includes('\n')) end(failed('the answer is not HTTP/1'));
    });
    socket.on('error', ({ message, ...error }: NodeJS.ErrnoException) =>
      end(failed(PROBLEMS[error.code ?? ''] ?? message)),
    );
    socket.on('close', () => end(failed('the connection was closed without an answer')));
  });
}

function requestText(path: string, address: string, port: number): string {
  const host = address.includes(':') ? `[${address}]` : address;
  const headers = [`Host: ${host}:${port}`, 'User-Agent: berth-health', 'Accept: */*', 'Connection: close'];
  return `GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
}
