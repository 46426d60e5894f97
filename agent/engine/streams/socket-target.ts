/** Connects to a TCP port of a container as the target of a stream. */
import { isIP, Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { wholeOutput } from './exec-output.ts';
import type { Target } from './target.ts';

const CONNECT_TIMEOUT_MS = 10_000;

const PROBLEMS: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there, or not on all addresses of the container',
  EHOSTUNREACH: 'the address cannot be reached',
  ENETUNREACH: 'the address cannot be reached',
};

/** Connects to the container's own address only. Throws an Error for people. */
export async function connectTo(address: string, port: number): Promise<Target> {
  const socket = await openSocket(address, port, CONNECT_TIMEOUT_MS);
  return {
    output: wholeOutput(socket),
    write: (bytes) => write(socket, bytes),
    end: () => void socket.end(),
    exitCode: async () => undefined,
    resize: () => {},
    signal: () => {},
    destroy: () => void socket.destroy(),
  };
}

/** Resolves to a connected socket, whose errors are heard. Throws an Error for people. */
export async function openSocket(
  address: string,
  port: number,
  timeoutMs: number,
  socket = new Socket({ allowHalfOpen: true }),
): Promise<Socket> {
  // With the host's network a container has no address of its own.
  if (isIP(address) === 0) throw new Error('the container has no address of its own');
  socket.setNoDelay(true).connect({ host: address, port });
  await connected(socket, port, timeoutMs);
  return socket;
}

function connected(socket: Socket, port: number, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => {
      clearTimeout(timer);
      socket.destroy();
      reject(new Error(`port ${port}: ${reason}`));
    };
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs / 1_000} s`), timeoutMs);
    socket.on('error', ({ message, ...error }: NodeJS.ErrnoException) =>
      fail(PROBLEMS[error.code ?? ''] ?? message),
    );
    socket.on('connect', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Resolves once the bytes are written, or never will be. */
export function write(socket: Writable, bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (socket.writable) socket.write(bytes, () => resolve());
    else resolve();
  });
}
