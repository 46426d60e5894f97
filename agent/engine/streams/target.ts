/** What a stream is connected to: a command in a container, or one of the container's ports. */
import type { ServiceKey } from '../../../shared/protocol/assignment.ts';
import type { StreamSignal, StreamTarget, TerminalSize } from '../../../shared/streams/targets.ts';

/** A piece of what the target sends. */
export interface Piece {
  bytes: Uint8Array;
  /** Output of a command without a terminal (exec-output.ts). */
  source?: number;
  /** Nothing follows, not even an exit code. */
  isLast?: boolean;
}

export interface Target {
  /** Reads no further than its reader. Throws if the target breaks off. */
  readonly output: AsyncIterable<Piece>;
  /** Resolves once the target has taken the bytes, or takes no more. Never rejects. */
  write(bytes: Uint8Array): Promise<void>;
  /** No more bytes follow. */
  end(): void;
  /**
   * Called once the output has ended without a last piece. The exit code of a command; undefined for a
   * connection.
   */
  exitCode(): Promise<number | undefined>;
  resize(size: TerminalSize): void;
  signal(signal: StreamSignal): void;
  /** Disconnects, and ends a command that still runs. */
  destroy(): void;
}

/** Throws an Error for people if the target can't be opened. */
export type OpenTarget = (key: ServiceKey, target: StreamTarget) => Promise<Target>;
