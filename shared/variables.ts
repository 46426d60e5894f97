/**
 * Variables of a description: `{user_name}`, `{dns_name#worker0}`, `{secret#NAME}` and so on.
 *
 * A reference is `{name}` or `{name#part}` in lower case. Other braces are plain text, and so is a reference
 * after a `$` (the shell's own). `{{name}}` stands for the literal text `{name}`.
 */

export interface Variables {
  user_name: string;
  execution_id: string;
  execution_name: string;
  deployment_name: string;
  /** DNS name of an instance of the same execution; undefined for an unknown instance. */
  dnsName: (instance: string) => string | undefined;
  /** Value of a secret. Absent where secrets may not be used. */
  secret?: (name: string) => string | undefined;
}

/** Names that a secret can have. */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;

/** The beginning of each reference to a secret. */
export const SECRET_REFERENCE = '{secret#';

/** The names of secrets to which the texts refer, each once. */
export function secretsIn(texts: readonly string[]): string[] {
  const names = new Set<string>();
  for (const text of texts) {
    if (!text.includes(SECRET_REFERENCE)) continue;
    for (const one = new References(text); one.next(); ) {
      if (one.isLiteral || one.isRepeated || !one.name.startsWith('secret#')) continue;
      names.add(one.name.slice('secret#'.length));
    }
  }
  return [...names];
}

/**
 * Names of the unknown references in `texts`, each once and at most `limit` of them. `instances` are those of
 * the application. Where secrets may be used, any that can exist is known.
 */
export function unknownVariables(
  texts: readonly string[],
  instances: Pick<ReadonlySet<string>, 'has'>,
  limit = Number.POSITIVE_INFINITY,
  mayUseSecrets = false,
): string[] {
  // Most texts have none, and a text without an end of a reference is not searched for beginnings.
  const searched = texts.filter((text) => text.includes('{') && text.includes('}'));
  if (searched.length === 0) return [];
  const known: Variables = {
    user_name: '',
    execution_id: '',
    execution_name: '',
    deployment_name: '',
    dnsName: (instance) => (instance === 'self' || instances.has(instance) ? '' : undefined),
    ...(mayUseSecrets && { secret: (name: string) => (SECRET_NAME.test(name) ? '' : undefined) }),
  };
  const seen = new Set<string>();
  const unknown: string[] = [];
  for (const text of searched) {
    for (const one = new References(text); one.next(); ) {
      if (unknown.length >= limit) return unknown;
      if (one.isLiteral || one.isRepeated) continue;
      const { name } = one;
      if (seen.has(name)) continue;
      seen.add(name);
      if (lookUp(name, known) === undefined) unknown.push(name);
    }
  }
  return unknown;
}

/** How many references the texts have. */
export function referencesIn(texts: readonly string[]): number {
  let references = 0;
  for (const text of texts) for (const one = new References(text); one.next(); ) references += 1;
  return references;
}

/** Replaces each reference. Throws on an unknown one, which validation has refused before. */
export function substitute(text: string, variables: Variables): string {
  let result = '';
  let end = 0;
  for (const one = new References(text); one.next(); end = one.end) {
    const value = one.isLiteral ? `{${one.name}}` : lookUp(one.name, variables);
    if (value === undefined) throw new Error(`unknown variable {${one.name}}`);
    result += text.slice(end, one.start) + value;
  }
  return result + text.slice(end);
}

/**
 * The text that `substitute` turns into `text`, except for the references to which `isKept` applies: these
 * stay references.
 */
export function escapeReferences(text: string, isKept: (name: string) => boolean): string {
  let result = '';
  let end = 0;
  for (const one = new References(text); one.next(); end = one.end) {
    const found = text.slice(one.start, one.end);
    const [open, close] = one.isLiteral || !isKept(one.name) ? ['{', '}'] : ['', ''];
    result += text.slice(end, one.start) + open + found + close;
  }
  return result + text.slice(end);
}

/** The inverse of `escapeReferences`: `{{name}}` becomes `{name}`, and nothing is filled in. */
export function unescapeReferences(text: string): string {
  let result = '';
  let end = 0;
  for (const one = new References(text); one.next(); end = one.end)
    result += text.slice(end, one.start) + (one.isLiteral ? `{${one.name}}` : text.slice(one.start, one.end));
  return result + text.slice(end);
}

/**
 * The references in a text, one after the other, as the expression `{{name}}|(?<!\$){name}` would find them,
 * but in a fraction of its time: a megabyte has 200,000 references. Makes no object for each of them.
 */
class References {
  /** True for `{{name}}`. */
  isLiteral = false;
  /** True if the text of the reference before it is the same. */
  isRepeated = false;
  /** The reference is the text from here to `end`. */
  start = 0;
  end = 0;
  readonly #text: string;
  #nameStart = 0;
  #nameEnd = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get name(): string {
    return this.#text.slice(this.#nameStart, this.#nameEnd);
  }

  /** Goes to the next reference. False if there is none. */
  next(): boolean {
    const text = this.#text;
    for (let start = nextBrace(text, this.end); start >= 0; ) {
      if (this.#repeatsAt(start)) return this.#foundAgain(start);
      const isDouble = text.charCodeAt(start + 1) === OPEN;
      const nameStart = start + (isDouble ? 2 : 1);
      const nameEnd = endOfName(text, nameStart);
      const closes = nameEnd > nameStart && text.charCodeAt(nameEnd) === CLOSE;
      if (
        closes &&
        (isDouble ? text.charCodeAt(nameEnd + 1) === CLOSE : text.charCodeAt(start - 1) !== DOLLAR)
      ) {
        this.isLiteral = isDouble;
        this.isRepeated = false;
        this.start = start;
        this.end = nameEnd + (isDouble ? 2 : 1);
        this.#nameStart = nameStart;
        this.#nameEnd = nameEnd;
        return true;
      }
      // In `{{name}` the inner braces are a reference.
      start = isDouble ? start + 1 : nextBrace(text, nameEnd);
    }
    return false;
  }

  /** Whether the last reference is there again. Comparing it is cheaper than reading a name. */
  #repeatsAt(start: number): boolean {
    const text = this.#text;
    const length = this.end - this.start;
    if (length === 0 || (!this.isLiteral && text.charCodeAt(start - 1) === DOLLAR)) return false;
    for (let at = length - 1; at > 0; at--)
      if (text.charCodeAt(start + at) !== text.charCodeAt(this.start + at)) return false;
    return true;
  }

  #foundAgain(start: number): true {
    const moved = start - this.start;
    this.isRepeated = true;
    this.start = start;
    this.end += moved;
    this.#nameStart += moved;
    this.#nameEnd += moved;
    return true;
  }
}

const [OPEN, CLOSE, DOLLAR, HASH] = [0x7b, 0x7d, 0x24, 0x23];

/** Many braces in a row need no search. */
const nextBrace = (text: string, at: number): number =>
  text.charCodeAt(at) === OPEN ? at : text.indexOf('{', at);

/**
 * The end of the name at `start`, like `[a-z_]+(#[A-Za-z0-9-]+)?`, or `start` itself if there is none. Names
 * of secrets may have `_` as well.
 */
function endOfName(text: string, start: number): number {
  let end = start;
  while (kindOf(text, end) & IN_NAME) end += 1;
  if (end === start || text.charCodeAt(end) !== HASH) return end;
  const inPart = text.startsWith('secret', start) && end - start === 6 ? IN_SECRET : IN_PART;
  let partEnd = end + 1;
  while (kindOf(text, partEnd) & inPart) partEnd += 1;
  return partEnd > end + 1 ? partEnd : end;
}

const [IN_NAME, IN_PART, IN_SECRET] = [1, 2, 4];
/** What each ASCII character may be part of. A look-up takes half the time of comparisons. */
const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  const inPart = /[A-Za-z0-9-]/.test(char) ? IN_PART | IN_SECRET : 0;
  return (/[a-z_]/.test(char) ? IN_NAME : 0) | inPart | (char === '_' ? IN_SECRET : 0);
});
/** 0 for other characters, and beyond the end of the text. */
const kindOf = (text: string, at: number): number => kinds[text.charCodeAt(at)] ?? 0;

function lookUp(name: string, variables: Variables): string | undefined {
  const hash = name.indexOf('#');
  const key = hash < 0 ? name : name.slice(0, hash);
  const instance = hash < 0 ? undefined : name.slice(hash + 1);
  if (key === 'dns_name') return instance === undefined ? undefined : variables.dnsName(instance);
  if (key === 'secret') return instance === undefined ? undefined : variables.secret?.(instance);
  if (instance !== undefined) return undefined;
  switch (key) {
    case 'user_name':
    case 'execution_id':
    case 'execution_name':
    case 'deployment_name':
      return variables[key];
    default:
      return undefined;
  }
}
