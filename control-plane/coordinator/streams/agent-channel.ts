/**
 * A channel of an agent as its user here has it: what each side may still send (P251), whether it is open,
 * and its end (P252, P253). Refuses what the agent may not send.
 */

import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { ChannelUp } from '../../../shared/protocol/up.ts';
import {
  CHUNK_BYTES,
  type ChannelTarget,
  largestWindow,
  MAX_WINDOW_BYTES,
  type StreamSignal,
  type TerminalSize,
} from '../../../shared/streams/targets.ts';
import { leastGrant, Window } from '../../../shared/streams/window.ts';
import type { ChannelPort, ChannelSink } from '../connections/open-channels.ts';
import type { StreamWatch } from './stream-watch.ts';

/** Takes what the agent sends, and may send. */
export interface ChannelUser {
  /** False if the target sends no such bytes. */
  chunk(bytes: Uint8Array): boolean;
  message(message: ChannelUp): void;
  /** The connection of the agent has closed. */
  detached(): void;
  /** Called once, when the channel is over. */
  over(): void;
}

export class AgentChannel implements ChannelSink {
  readonly #user: ChannelUser;
  readonly #watch: StreamWatch | undefined;
  #port: ChannelPort | undefined;
  #number = 0;
  #window: Window | undefined;
  #isOutput = false;
  #isOpened = false;
  #mayWrite = 0;
  #hasEnded = false;
  #hasAgentEnded = false;
  /** Whether the agent knows that the channel is over. */
  #isKnown = false;
  #isOver = false;

  constructor(user: ChannelUser, watch?: StreamWatch) {
    this.#user = user;
    this.#watch = watch;
  }

  /**
   * `ended`: nothing will be written. The agent then sends what it has without reporting that the channel is
   * open. `heldBytes`: what is here already, of a channel before. False, and without effect, if that leaves
   * too little room.
   */
  begin(port: ChannelPort, key: ServiceKey, target: ChannelTarget, ended?: true, heldBytes = 0): boolean {
    const window = new Window(port.link, { heldBytes, mostBytes: largestWindow(target) });
    if (window.credit < leastGrant(window.bytes)) {
      window.close();
      return false;
    }
    // Before the channel, whose connection may be found closed.
    this.#watch?.begin();
    this.#window = window;
    this.#port = port;
    this.#isOutput = target.kind === 'output';
    this.#isOpened = ended === true;
    this.#hasEnded = this.#isOpened || this.#isOutput;
    this.#number = port.open(key, target, window.credit, this, ended);
    return true;
  }

  get isOpened(): boolean {
    return this.#isOpened;
  }

  get hasAgentEnded(): boolean {
    return this.#hasAgentEnded;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether no more should be written for now. */
  get isAgentBehind(): boolean {
    return this.#port?.isBehind ?? false;
  }

  /** Bytes that may be written. */
  get mayWrite(): number {
    return this.#hasEnded || this.#isOver ? 0 : this.#mayWrite;
  }

  /** Bytes that came and were not taken yet. */
  get held(): number {
    return this.#window?.held ?? 0;
  }

  /** What the agent may have on the way and here. */
  get windowBytes(): number {
    return this.#window?.bytes ?? 0;
  }

  /** At most what may be written. */
  write(bytes: Uint8Array): void {
    this.#mayWrite -= bytes.length;
    this.#watch?.carried();
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES)
      this.#port?.sendBytes(this.#number, bytes.subarray(from, from + CHUNK_BYTES));
  }

  /** So many bytes are no longer here. */
  take(taken: number): void {
    if (this.#hasAgentEnded || this.#isOver) return;
    const bytes = this.#window?.take(taken) ?? 0;
    if (bytes > 0) this.#port?.send({ type: 'channel.credit', channel: this.#number, bytes });
  }

  resize(size: TerminalSize): void {
    this.#port?.send({ ...size, type: 'channel.resize', channel: this.#number });
  }

  signal(signal: StreamSignal): void {
    this.#port?.send({ type: 'channel.signal', channel: this.#number, signal });
  }

  /** No more bytes follow. */
  end(): void {
    if (this.#hasEnded || this.#isOver || !this.#port) return;
    this.#hasEnded = true;
    this.#port.send({ type: 'channel.end', channel: this.#number });
    this.#isKnown = this.#hasAgentEnded;
    if (this.#isKnown) this.close();
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#watch?.stop();
    this.#port?.close(this.#number, this.#isKnown, this.#window?.credit);
    this.#window?.close();
    this.#user.over();
  }

  chunk(bytes: Uint8Array): boolean {
    if (!this.#mayAgentSend || !this.#window?.receive(bytes.length)) return false;
    this.#watch?.carried();
    return this.#user.chunk(bytes);
  }

  message(message: ChannelUp): boolean {
    if (this.#isOver) return true;
    if (!this.#apply(message)) return false;
    this.#user.message(message);
    if (this.#isKnown) this.close();
    return true;
  }

  detached(): void {
    if (this.#isOver) return;
    this.#isKnown = true;
    this.#user.detached();
    this.close();
  }

  /** Whether bytes, or their end, may come. */
  get #mayAgentSend(): boolean {
    return (this.#isOpened || this.#isOutput) && !this.#hasAgentEnded;
  }

  /** False if the message is not allowed. */
  #apply(message: ChannelUp): boolean {
    switch (message.type) {
      case 'channel.opened':
        if (this.#isOpened || (message.credit === undefined && !this.#isOutput)) return false;
        this.#isOpened = true;
        this.#mayWrite = message.credit ?? 0;
        return true;
      case 'channel.credit':
        if (!this.#isOpened || this.#isOutput) return false;
        this.#mayWrite += message.bytes;
        return this.#mayWrite <= MAX_WINDOW_BYTES;
      case 'channel.end':
        if (!this.#mayAgentSend) return false;
        this.#hasAgentEnded = true;
        this.#isKnown = this.#hasEnded || message.exitCode !== undefined;
        return true;
      case 'channel.reset':
        this.#isKnown = true;
        return true;
    }
  }
}
