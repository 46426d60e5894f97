/**
 * Checks a container by TCP or HTTP: connects to the container's own address only, follows no redirect, and
 * reads no more of an answer than the first line of the final one.
 */
import { connect, isIP } from 'node:net';
import type { HealthCheck } from '../../../shared/protocol/health.ts';
import type { Finding } from './judge.ts';

export type NetworkCheck = Extract<HealthCheck, { kind: 'http' | 'tcp' }>;

/** Bytes of an answer that are read. The first line of a sane server has a hundred. */
const MAX_BYTES = 1024;
/** An agent whose timers are so late has not had the time to check. */
const MAX_LATE_MS = 500;

const PROBLEMS: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the address cannot be reached',
  ENETUNREACH: 'the address cannot be reached',
};

/** `address` is null for a container that its host does not reach, and empty for one without an address. */
export function probeNetwork(check: NetworkCheck, address: string | null): Promise<Finding> {
  const what = check.kind === 'http' ? `GET ${check.path} on port ${check.port}` : `port ${check.port}`;
  const passed = (detail: string): Finding => ({ result: 'passed', detail: `${what}: ${detail}` });
  const failed = (detail: string): Finding => ({ result: 'failed', detail: `${what}: ${detail}` });
  if (address === null)
    return Promise.resolve(failed('the host cannot reach this overlay network; use a command instead'));
  // With the host's network a container has no address of its own.
  if (isIP(address) === 0)
    return Promise.resolve(failed('the container has no address of its own; use a command instead'));
  return new Promise((resolve) => {
    const beganMs = performance.now();
    const answer = new Answer();
    const socket = connect({ host: address, port: check.port });
    const end = (finding: Finding) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(finding);
    };
    const timer = setTimeout(() => {
      const isLate = performance.now() - beganMs > check.timeoutMs + MAX_LATE_MS;
      end(isLate ? UNKNOWN : failed(`no answer within ${check.timeoutMs / 1_000} s`));
    }, check.timeoutMs);
    socket.on('connect', () => {
      if (check.kind === 'tcp') return end(passed('open'));
      socket.write(requestText(check.path, address, check.port));
    });
    socket.on('data', (bytes: Buffer) => {
      const status = answer.read(bytes);
      if (status === undefined) return;
      if (status === null) return end(failed('the answer is not HTTP/1'));
      const isGood = status >= 200 && status < 400;
      end((isGood ? passed : failed)(`status ${status}`));
    });
    socket.on('error', ({ message, ...error }: NodeJS.ErrnoException) =>
      end(failed(PROBLEMS[error.code ?? ''] ?? message)),
    );
    socket.on('close', () => end(failed('the connection was closed without an answer')));
  });
}

const UNKNOWN: Finding = { result: 'unknown', detail: '' };
const STATUS_LINE = /^HTTP\/1\.\d (\d{3})[ \r\n]/;
/** A switch to another protocol is the last answer of this one. */
const isInterim = (status: number): boolean => status >= 100 && status < 200 && status !== 101;

/** Reads the status of an answer, and skips the interim ones before it. */
class Answer {
  #text = '';

  /** Undefined: not yet there. Null: this is not HTTP. */
  read(bytes: Buffer): number | null | undefined {
    this.#text += bytes.toString('latin1', 0, MAX_BYTES - this.#text.length);
    for (let rest = this.#text; ; ) {
      const [, digits] = STATUS_LINE.exec(rest) ?? [];
      const isFull = this.#text.length >= MAX_BYTES;
      if (digits === undefined) return isFull || rest.includes('\n') ? null : undefined;
      if (!isInterim(Number(digits))) return Number(digits);
      const blank = /\r?\n\r?\n/.exec(rest);
      if (!blank) return isFull ? null : undefined;
      rest = rest.slice(blank.index + blank[0].length);
    }
  }
}

function requestText(path: string, address: string, port: number): string {
  const host = address.includes(':') ? `[${address}]` : address;
  const headers = [`Host: ${host}:${port}`, 'User-Agent: berth-health', 'Accept: */*', 'Connection: close'];
  return `GET ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`;
}
