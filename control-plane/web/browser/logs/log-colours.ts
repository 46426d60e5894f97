/**
 * Colours of output: splits a line at ANSI codes, and renders the pieces. Each line begins without colour.
 */
import Anser from 'anser';

export interface Piece {
  text: string;
  /** Classes of styles/log-colours.css. */
  classes: readonly string[];
  /** A colour of the 256 or 16 million, as a CSS value. */
  colour?: string;
  background?: string;
}

const CUBE = [0, 95, 135, 175, 215, 255];

/** `text` has no escape codes other than colours (log-text.ts). */
export function piecesOf(text: string): Piece[] {
  if (!text.includes('\x1b')) return text === '' ? [] : [{ text, classes: [] }];
  const options = { json: true, use_classes: true, remove_empty: true } as const;
  return Anser.ansiToJson(text, options).map((entry) => {
    const front = colourOf(entry.fg, entry.fg_truecolor);
    const back = colourOf(entry.bg, entry.bg_truecolor);
    const classes = entry.decorations.map((one) => `ansi-${one}`);
    if (front.name) classes.push(`${front.name}-fg`);
    if (back.name) classes.push(`${back.name}-bg`);
    return {
      text: entry.content,
      classes,
      ...(front.value ? { colour: front.value } : {}),
      ...(back.value ? { background: back.value } : {}),
    };
  });
}

/** The sixteen basic colours are classes, which differ in light and dark. Other colours are exact. */
function colourOf(name: string | null, truecolor: string | null): { name?: string; value?: string } {
  if (!name) return {};
  if (name === 'ansi-truecolor') return truecolor ? { value: `rgb(${truecolor})` } : {};
  const palette = /^ansi-palette-(\d+)$/.exec(name);
  if (!palette) return { name };
  const index = Number(palette[1]);
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return { value: `rgb(${grey}, ${grey}, ${grey})` };
  }
  const at = index - 16;
  const [red = 0, green = 0, blue = 0] = [Math.floor(at / 36), Math.floor(at / 6) % 6, at % 6].map(
    (one) => CUBE[one] ?? 0,
  );
  return { value: `rgb(${red}, ${green}, ${blue})` };
}

/**
 * Appends the pieces as elements. `found` are the [start, end) ranges to highlight in the whole text, in
 * order.
 */
export function paint(
  parent: HTMLElement,
  pieces: readonly Piece[],
  found: readonly (readonly [number, number])[],
): void {
  let offset = 0;
  for (const piece of pieces) {
    const end = offset + piece.text.length;
    let at = offset;
    for (const [from, to] of found) {
      if (to <= at || from >= end) continue;
      if (from > at) add(parent, piece, piece.text.slice(at - offset, from - offset), false);
      const start = Math.max(from, at);
      at = Math.min(to, end);
      add(parent, piece, piece.text.slice(start - offset, at - offset), true);
    }
    if (at < end) add(parent, piece, piece.text.slice(at - offset), false);
    offset = end;
  }
}

/** Uses textContent only: nothing in a line may become HTML. */
function add(parent: HTMLElement, piece: Piece, text: string, isFound: boolean): void {
  const { classes, colour, background } = piece;
  const element = document.createElement(isFound ? 'mark' : 'span');
  element.textContent = text;
  element.classList.add(...classes);
  if (colour) element.style.color = colour;
  if (background && !isFound) element.style.backgroundColor = background;
  parent.append(element);
}
