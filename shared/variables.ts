/**
 * Variables of a description: `{user_name}`, `{dns_name#worker0}` and so on.
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
}

/**
 * Names of the unknown references in `texts`, each once and at most `limit` of them. `instances` are those of
 * the application.
 */
export function unknownVariables(
  texts: readonly string[],
  instances: Pick<ReadonlySet<string>, 'has'>,
  limit = Number.POSITIVE_INFINITY,
): string[] {
  const known: Variables = {
    user_name: '',
    execution_id: '',
    execution_name: '',
    deployment_name: '',
    dnsName: (instance) => (instance === 'self' || instances.has(instance) ? '' : undefined),
  };
  const unknown = new Set<string>();
  for (const text of texts) {
    for (let one = nextReference(text, 0); one; one = nextReference(text, one.end)) {
      if (unknown.size >= limit) return [...unknown];
      if (one.literal || unknown.has(one.name)) continue;
      if (lookUp(one.name, known) === undefined) unknown.add(one.name);
    }
  }
  return [...unknown];
}

/** Replaces each reference. Throws on an unknown one, which validation has refused before. */
export function substitute(text: string, variables: Variables): string {
  let result = '';
  let end = 0;
  for (let one = nextReference(text, 0); one; one = nextReference(text, end)) {
    const value = one.literal ? `{${one.name}}` : lookUp(one.name, variables);
    if (value === undefined) throw new Error(`unknown variable {${one.name}}`);
    result += text.slice(end, one.start) + value;
    end = one.end;
  }
  return result + text.slice(end);
}

interface Reference {
  name: string;
  /** True for `{{name}}`. */
  literal: boolean;
  start: number;
  end: number;
}

/**
 * Finds the first reference at or after `from`, as the expression `{{name}}|(?<!\$){name}` would, but in a
 * fraction of its time: a megabyte has 200,000 references.
 */
function nextReference(text: string, from: number): Reference | undefined {
  for (let start = text.indexOf('{', from); start >= 0; ) {
    const isDouble = text.charCodeAt(start + 1) === OPEN;
    const nameStart = start + (isDouble ? 2 : 1);
    const nameEnd = endOfName(text, nameStart);
    const closes = nameEnd > nameStart && text.charCodeAt(nameEnd) === CLOSE;
    const isShell = text.charCodeAt(start - 1) === DOLLAR;
    if (closes && (isDouble ? text.charCodeAt(nameEnd + 1) === CLOSE : !isShell)) {
      const name = text.slice(nameStart, nameEnd);
      return { name, literal: isDouble, start, end: nameEnd + (isDouble ? 2 : 1) };
    }
    // In `{{name}` the inner braces are a reference.
    start = isDouble ? start + 1 : text.indexOf('{', nameEnd);
  }
  return undefined;
}

const [OPEN, CLOSE, DOLLAR] = [0x7b, 0x7d, 0x24];

const NAME = /[a-z_]+(?:#[A-Za-z0-9-]+)?/y;

/** The end of the name at `start`; `start` itself if there is none. */
function endOfName(text: string, start: number): number {
  NAME.lastIndex = start;
  return NAME.test(text) ? NAME.lastIndex : start;
}

function lookUp(name: string, variables: Variables): string | undefined {
  const hash = name.indexOf('#');
  const key = hash < 0 ? name : name.slice(0, hash);
  const instance = hash < 0 ? undefined : name.slice(hash + 1);
  if (key === 'dns_name') return instance === undefined ? undefined : variables.dnsName(instance);
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
