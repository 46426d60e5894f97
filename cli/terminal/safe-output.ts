/**
 * Makes the output of services safe for a terminal: only text, colours and controls of the line pass. Titles,
 * the clipboard, modes, and movements to other lines do not.
 */
import { StringDecoder } from 'node:string_decoder';

const [BEL, ESC, DEL, ST] = [0x07, 0x1b, 0x7f, 0x9c];
const [FIRST_C1, LAST_C1, CSI] = [0x80, 0x9f, 0x9b];
/** Backspace, tab, line feed and carriage return. */
const LINE_CONTROLS: ReadonlySet<number> = new Set([8, 9, 10, 13]);
/** DCS, SOS, OSC, PM and APC: the rest of the sequence is a text of any length. */
const STRING_CODES: ReadonlySet<number> = new Set([0x90, 0x98, 0x9d, 0x9e, 0x9f]);
const MAX_PARAMETERS = 64;
/** Colours, or what clears a part of the line. */
const PASSING = /^(?:[\d;:]*m|[012]?K)$/;
const USUAL = /^[^\p{Cc}\p{Bidi_Control}]*$/u;
const BIDI_CONTROL = /\p{Bidi_Control}/gu;
const RESET = '\u001b[0m';

export class SafeOutput {
  readonly #services = new Map<number, { decoder: StringDecoder; sequences: Sequences }>();

  /** What may pass of the next bytes of a service. What is not UTF-8 becomes U+FFFD. */
  pass(service: number, bytes: Uint8Array): string {
    const known = this.#services.get(service);
    const one = known ?? { decoder: new StringDecoder('utf8'), sequences: new Sequences() };
    if (!known) this.#services.set(service, one);
    return one.sequences.pass(one.decoder.write(Buffer.from(bytes)));
  }

  /** What ends the output: a colour must not stay. */
  end(): string {
    return [...this.#services.values()].some(({ sequences }) => sequences.isColoured) ? RESET : '';
  }
}

type Sequence = 'none' | 'escape' | 'parameters' | 'string' | 'string-escape';

/** Reads a text character by character, since a sequence may come in any number of pieces. */
class Sequences {
  isColoured = false;
  #in: Sequence = 'none';
  #parameters = '';

  pass(text: string): string {
    if (this.#in === 'none' && USUAL.test(text)) return text;
    let passed = '';
    for (const character of text.replace(BIDI_CONTROL, '\ufffd')) passed += this.#next(character);
    return passed;
  }

  #next(character: string): string {
    const code = character.codePointAt(0) ?? 0;
    // A line feed ends any sequence, so that nothing can swallow what follows.
    if (this.#in === 'none' || character === '\n') return this.#plain(character, code);
    if (code === ESC) {
      this.#in = this.#in === 'string' ? 'string-escape' : 'escape';
      return '';
    }
    switch (this.#in) {
      case 'escape':
        return this.#escaped(character, code);
      case 'parameters':
        return this.#parameter(character, code);
      case 'string':
        if (code === BEL || code === ST) this.#in = 'none';
        return '';
      default:
        // Either the end of the string, or the beginning of another sequence.
        this.#in = 'escape';
        return this.#escaped(character, code);
    }
  }

  #plain(character: string, code: number): string {
    this.#in = 'none';
    if (code === ESC) this.#in = 'escape';
    else if (code === CSI) this.#begin();
    else if (STRING_CODES.has(code)) this.#in = 'string';
    const isControl = code < 0x20 || code === DEL || (code >= FIRST_C1 && code <= LAST_C1);
    return isControl && !LINE_CONTROLS.has(code) ? '' : character;
  }

  #begin(): void {
    this.#in = 'parameters';
    this.#parameters = '';
  }

  #escaped(character: string, code: number): string {
    if (character === '[') this.#begin();
    else if (']PX^_'.includes(character)) this.#in = 'string';
    else if (code < 0x20 || code >= DEL) return this.#plain(character, code);
    // Blanks and punctuation come before the last character of a sequence.
    else if (code >= 0x30) this.#in = 'none';
    return '';
  }

  #parameter(character: string, code: number): string {
    if (code < 0x20 || code >= DEL) return this.#plain(character, code);
    this.#parameters += character;
    if (code < 0x40 && this.#parameters.length <= MAX_PARAMETERS) return '';
    this.#in = 'none';
    if (!PASSING.test(this.#parameters)) return '';
    if (character === 'm') this.isColoured = !/^0*m$/.test(this.#parameters);
    return `\u001b[${this.#parameters}`;
  }
}
