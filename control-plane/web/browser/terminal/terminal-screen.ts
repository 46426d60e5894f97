/**
 * The terminal on the page: xterm with the colours of the page, as large as its place. What a program prints
 * can only change what the terminal shows: no title, no clipboard, no links.
 */
import { type ITheme, Terminal } from '@xterm/xterm';
import type { TerminalSize } from '../../../../shared/streams/targets.ts';
import { TerminalText } from './terminal-text.ts';

/** Lines that can be scrolled back to. */
const SCROLLBACK = 5_000;
/** The scroll bar is drawn over the text. */
const SCROLL_BAR_PX = 14;
/** While a window is dragged larger, its size changes with every frame. */
const SETTLED_MS = 100;
const MAX_CELLS = 1_000;
/**
 * OSC sequences without effect: links (8), whose address the text on the screen does not show, and changes of
 * the palette (4 and 104), which is that of the page.
 */
const IGNORED_OSC = [4, 8, 104] as const;
/**
 * How often sequences may have the terminal repeat tabs, lines, scrolling and characters. It would take the
 * numbers at their word, for minutes; programs repeat no more than the screen has.
 */
const MOST_REPEATS = { I: 200, L: 200, M: 200, S: 200, T: 200, Z: 200, b: MAX_CELLS };
/** Control characters in a paste could end a bracketed paste and give commands. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;

const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;

export interface ScreenEvents {
  /** Keys, pastes, and answers of the terminal to what the program has requested. */
  input(bytes: Uint8Array<ArrayBuffer>): void;
  resized(size: TerminalSize): void;
  /** The user wants to leave the terminal by keyboard. */
  left(): void;
}

export class TerminalScreen {
  readonly #place: HTMLElement;
  readonly #terminal: Terminal;
  readonly #events: ScreenEvents;
  #text = new TerminalText();
  #settling: ReturnType<typeof setTimeout> | undefined;

  constructor(place: HTMLElement, events: ScreenEvents) {
    this.#place = place;
    this.#events = events;
    const { fontFamily, fontSize } = getComputedStyle(place);
    this.#terminal = new Terminal({
      fontFamily,
      fontSize: Number.parseFloat(fontSize),
      scrollback: SCROLLBACK,
      theme: themeOf(place),
      minimumContrastRatio: 4.5,
      logLevel: 'off',
      disableStdin: true,
    });
    const { parser } = this.#terminal;
    for (const number of IGNORED_OSC) parser.registerOscHandler(number, () => true);
    for (const [final, most] of Object.entries(MOST_REPEATS))
      parser.registerCsiHandler({ final }, ([count]) => Number(count) > most);
    allowStylesOfSpans();
    withSheets(() => this.#terminal.open(place));
    this.#listen();
    this.#fit();
  }

  get size(): TerminalSize {
    return { columns: this.#terminal.cols, rows: this.#terminal.rows };
  }

  /** Empties the terminal and takes the focus. Until `disable`, keys are input. */
  begin(): void {
    this.#terminal.reset();
    this.#text = new TerminalText();
    this.#terminal.options.disableStdin = false;
    this.#terminal.focus();
  }

  /** What was shown stays. */
  disable(): void {
    this.#terminal.options.disableStdin = true;
  }

  /** `shown` is called once the terminal has taken in all of the bytes. */
  write(bytes: Uint8Array, shown: () => void): void {
    for (const piece of this.#text.next(bytes)) this.#terminal.write(piece);
    this.#terminal.write('', shown);
  }

  /** Has a screen reader read new output. It slows large outputs down. */
  readAloud(isOn: boolean): void {
    this.#terminal.options.screenReaderMode = isOn;
  }

  focus(): void {
    this.#terminal.focus();
  }

  #listen(): void {
    const terminal = this.#terminal;
    const encoder = new TextEncoder();
    terminal.onData((text) => this.#events.input(encoder.encode(text)));
    terminal.onBinary((text) =>
      this.#events.input(Uint8Array.from(text, (character) => character.charCodeAt(0))),
    );
    terminal.onResize(() => this.#events.resized(this.size));
    terminal.attachCustomKeyEventHandler((event) => this.#isInput(event));
    this.#place.addEventListener('paste', (event) => this.#paste(event), { capture: true });
    new ResizeObserver(() => {
      clearTimeout(this.#settling);
      this.#settling = setTimeout(() => this.#fit(), SETTLED_MS);
    }).observe(this.#place);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      terminal.options.theme = themeOf(this.#place);
    });
  }

  #isInput(event: KeyboardEvent): boolean {
    const { type, ctrlKey, shiftKey, altKey, metaKey, code } = event;
    if (!ctrlKey || altKey || metaKey) return true;
    const isLeaving = code === 'KeyM' && !shiftKey;
    const isCopying = code === 'KeyC' && shiftKey;
    if (!isLeaving && !isCopying) return true;
    event.preventDefault();
    if (type === 'keydown' && isLeaving) this.#events.left();
    if (type === 'keydown' && isCopying) void this.#copy();
    return false;
  }

  async #copy(): Promise<void> {
    const text = this.#terminal.getSelection();
    if (text === '') return;
    // Pages over plain http from another machine have no clipboard API. xterm answers the event of a copy.
    if (navigator.clipboard) await navigator.clipboard.writeText(text);
    else document.execCommand('copy');
  }

  #paste(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    const text = event.clipboardData?.getData('text/plain') ?? '';
    if (!this.#terminal.options.disableStdin) this.#terminal.paste(text.replace(CONTROLS, ''));
  }

  #fit(): void {
    const screen = this.#place.querySelector('.xterm-screen');
    if (!screen || this.#place.clientWidth === 0) return;
    const { cols, rows } = this.#terminal;
    const { width, height } = screen.getBoundingClientRect();
    const { paddingLeft, paddingTop } = getComputedStyle(this.#place);
    const across = this.#place.clientWidth - 2 * Number.parseFloat(paddingLeft) - SCROLL_BAR_PX;
    const down = this.#place.clientHeight - 2 * Number.parseFloat(paddingTop);
    const fitting = (length: number, cell: number, least: number) =>
      Math.min(MAX_CELLS, Math.max(least, Math.floor(length / cell)));
    this.#terminal.resize(fitting(across, width / cols, 2), fitting(down, height / rows, 1));
  }
}

function themeOf(place: HTMLElement): ITheme {
  const style = getComputedStyle(place);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const ansi = COLOURS.flatMap((name) => [
    [name, colour(`ansi-${name}`)],
    [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, colour(`ansi-bright-${name}`)],
  ]);
  return {
    ...Object.fromEntries(ansi),
    foreground: colour('text'),
    background: colour('card'),
    cursor: colour('accent'),
    cursorAccent: colour('card'),
    selectionBackground: colour('found'),
  };
}

/**
 * Runs `open`, which may make <style> elements: each becomes a sheet of the document in its place. xterm
 * makes some when it is opened, and sets the attribute `style` of its spans. The policy of the page allows no
 * inline styles, but sheets and styles that a script sets by the CSSOM (WEB-16).
 */
function withSheets(open: () => void): void {
  const create = document.createElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) =>
    name === 'style' ? standIn() : create.call(document, name, options)) as typeof create;
  try {
    open();
  } finally {
    document.createElement = create;
  }
}

/** An element whose text is the text of a sheet. */
function standIn(): HTMLElement {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  const element = document.createElementNS('http://www.w3.org/1999/xhtml', 'span') as HTMLElement;
  element.hidden = true;
  Object.defineProperty(element, 'textContent', {
    set: (text: string) => sheet.replaceSync(text),
  });
  return element;
}

/** For all spans of the page: `setAttribute('style', ...)` has the effect that the policy would forbid. */
function allowStylesOfSpans(): void {
  const { setAttribute } = Element.prototype;
  HTMLSpanElement.prototype.setAttribute = function (name: string, value: string): void {
    if (name === 'style') this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}
