/** Renders a row of a log: its time, the name of its service if there are several, and its coloured text. */
import { localText } from '../parts/local-time.ts';
import { paint, piecesOf } from './log-colours.ts';
import type { LogRows } from './log-rows.ts';
import { colouredText, partsOf } from './log-text.ts';

/** A longer line is cut here until the user requests all of it. */
const MAX_LINE_BYTES = 8_192;
/** Number of service colours in styles/logs.css; they repeat. */
const COLOURS = 8;

const decoder = new TextDecoder();

export class LogLines {
  readonly #rows: LogRows;
  readonly #names: readonly string[];
  /** Long lines that are shown in full. */
  readonly #whole = new Set<string>();

  constructor(rows: LogRows, names: readonly string[]) {
    this.#rows = rows;
    this.#names = names;
  }

  /** The length of the line of a row: it changes when the row must be redrawn. */
  size(row: number): number {
    const { source, line } = this.#rows.at(row);
    return this.#rows.stores[source]?.line(line).byteLength ?? 0;
  }

  /** `rangesIn`: the matches in a text. `changed` is called when the row must be rendered again. */
  element(
    row: number,
    rangesIn: (text: string) => [start: number, end: number][],
    changed: () => void,
  ): HTMLElement {
    const { source, line } = this.#rows.at(row);
    const store = this.#rows.stores[source];
    const element = document.createElement('div');
    element.className = 'log-row';
    if (!store) return element;
    const { when, text } = partsOf(store.line(line), store.isContinued(line));
    element.append(span('log-when', whenText(decoder.decode(when))));
    if (this.#names.length > 1)
      element.append(span(`log-name log-${source % COLOURS}`, this.#names[source] ?? ''));
    const key = `${source}/${line}`;
    const isCut = text.byteLength > MAX_LINE_BYTES && !this.#whole.has(key);
    const shown = colouredText(decoder.decode(isCut ? text.subarray(0, MAX_LINE_BYTES) : text));
    const body = span('log-text', '');
    const pieces = piecesOf(shown);
    paint(body, pieces, rangesIn(pieces.map((piece) => piece.text).join('')));
    element.append(body);
    if (isCut) {
      const more = document.createElement('button');
      more.textContent = `Show all ${text.byteLength.toLocaleString('en')} bytes`;
      more.onclick = () => {
        this.#whole.add(key);
        changed();
      };
      element.append(more);
    }
    return element;
  }
}

/** The time of a line, which comes in UTC, as the page shows all times. */
function whenText(stamp: string): string {
  const ms = Date.parse(`${stamp.replace(' ', 'T')}Z`);
  return Number.isNaN(ms) ? stamp : localText(ms);
}

function span(classes: string, text: string): HTMLSpanElement {
  const element = document.createElement('span');
  element.className = classes;
  element.textContent = text;
  return element;
}
