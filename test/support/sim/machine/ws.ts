/** The part of `ws` that the agent uses: a client socket on the simulated network of its machine. */
import { EventEmitter } from 'node:events';
import { PULSE } from '../../../../shared/protocol/pulse.ts';
import type { Link } from '../world/network.ts';
import { currentProcess, type Process } from '../world/time.ts';

/** How a process opens a connection; the machine sets it. */
export const dialling = new WeakMap<Process, (socket: WebSocket) => void>();

export class WebSocket extends EventEmitter {
  static readonly OPEN = 1;
  /** 0 CONNECTING, 1 OPEN, 2 CLOSING, 3 CLOSED. */
  readyState = 0;
  link: Link | undefined;

  readonly url: string;

  constructor(url: string, _options: object) {
    super();
    this.url = url;
    const owner = currentProcess();
    if (owner) dialling.get(owner)?.(this);
  }

  send(data: string | Uint8Array, sent?: () => void): void {
    if (this.readyState !== WebSocket.OPEN) throw new Error('the socket is not open');
    if (data === PULSE) this.link?.pulse();
    else this.link?.sendUp(typeof data === 'string' ? data : Uint8Array.from(data), sent);
  }

  ping(): void {
    this.link?.ping();
  }

  close(code = 1005, reason = ''): void {
    if (this.readyState >= 2) return;
    const opened = this.readyState === WebSocket.OPEN;
    this.readyState = 2;
    if (opened) this.link?.closeUp(code, reason);
    else this.fail('WebSocket was closed before the connection was established');
  }

  terminate(): void {
    if (this.readyState === 3) return;
    this.link?.abandon();
    this.over(1006, '');
  }

  /** Reports that the socket could not be opened. */
  fail(words: string): void {
    if (this.readyState === 3) return;
    this.emit('error', new Error(words));
    this.over(1006, '');
  }

  /** Reports that the server answered the upgrade with another status. */
  refuse(statusCode: number, body: object): void {
    if (this.readyState === 3) return;
    const bytes = Buffer.from(JSON.stringify(body));
    this.emit('unexpected-response', undefined, Object.assign([bytes], { statusCode, headers: {} }));
  }

  over(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.emit('close', code, Buffer.from(reason));
  }
}
