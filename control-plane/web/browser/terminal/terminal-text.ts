/**
 * The text of a program's output, with bounds on what a terminal would take a long time to draw. Never
 * touches the page.
 */

/** Marks that join one cell. Further ones are left out; no language has so many. */
const MAX_MARKS = 16;
/** Characters that take no cell of their own. */
const MARKS = /[\p{Mn}\p{Me}\p{Cf}\u1160-\u11ff]+/gu;
/** Has no effect in a terminal, and could stand between marks. */
const DELETE = '\x7f';
/** A terminal draws between pieces, and takes keys. */
const PIECE_LENGTH = 1_024;

export class TerminalText {
  readonly #decoder = new TextDecoder();
  /** Marks at the end of what was returned. */
  #marks = 0;

  /** The text in pieces of whole characters. One that is cut off comes with the next bytes. */
  next(bytes: Uint8Array): string[] {
    const text = this.#decoder.decode(bytes, { stream: true }).replaceAll(DELETE, '');
    return piecesOf(this.#bounded(text));
  }

  #bounded(text: string): string {
    if (text === '') return text;
    let atEnd = 0;
    const bounded = text.replace(MARKS, (run: string, at: number) => {
      const before = at === 0 ? this.#marks : 0;
      const kept = [...run].slice(0, Math.max(0, MAX_MARKS - before));
      if (at + run.length === text.length) atEnd = before + kept.length;
      return kept.join('');
    });
    this.#marks = atEnd;
    return bounded;
  }
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length; ) {
    const isCut = isFirstHalf(text.charCodeAt(from + PIECE_LENGTH - 1));
    const to = from + PIECE_LENGTH - (isCut ? 1 : 0);
    pieces.push(text.slice(from, to));
    from = to;
  }
  return pieces;
}

const isFirstHalf = (code: number): boolean => (code & 0xfc00) === 0xd800;
