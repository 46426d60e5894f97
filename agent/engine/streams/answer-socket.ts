/**
 * A connection on which the lines of an answer's head may end in a bare line feed, as browsers and nginx
 * accept them (RFC 9112, 2.2). Never changes the body, nor what an upgraded connection carries.
 */
import { Socket } from 'node:net';

const CR = 13;
const LF = 10;
const RETURN = Buffer.from('\r');
/** As much of a status line as has the status. */
const STATUS_LENGTH = 'HTTP/1.1 100'.length;

export class AnswerSocket extends Socket {
  #heads = new HeadLines();

  /** Another answer follows. */
  renew(): void {
    this.#heads = new HeadLines();
  }

  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    return super.push(chunk && this.#heads.normalise(chunk), encoding);
  }
}

/** Ends each line of the heads of one answer in CR LF, of the informational ones (1xx) and of the last. */
export class HeadLines {
  #isOver = false;
  #isAfterReturn = false;
  /** Bytes of the line so far, without the return at its end. */
  #lineLength = 0;
  /** The first bytes of the head; empty before its first line. */
  #status = '';

  normalise(chunk: Buffer): Buffer {
    const parts: Buffer[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length && !this.#isOver; at += 1) {
      const byte = chunk[at];
      if (byte === LF) {
        if (!this.#isAfterReturn) {
          parts.push(chunk.subarray(from, at), RETURN);
          from = at;
        }
        this.#endLine();
      } else if (byte !== CR || this.#isAfterReturn) {
        this.#lineLength += 1;
        if (this.#status.length < STATUS_LENGTH) this.#status += String.fromCharCode(byte ?? 0);
      }
      this.#isAfterReturn = byte === CR;
    }
    return parts.length === 0 ? chunk : Buffer.concat([...parts, chunk.subarray(from)]);
  }

  #endLine(): void {
    const isEmpty = this.#lineLength === 0;
    this.#lineLength = 0;
    // Empty lines before a status line are ignored.
    if (!isEmpty || this.#status === '') return;
    this.#isOver = !/^HTTP\/\d\.\d 1\d\d$/.test(this.#status) || this.#status.endsWith(' 101');
    this.#status = '';
  }
}
