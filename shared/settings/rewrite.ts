/**
 * Rewrites a file of settings: each removed setting becomes what took its place. The file may be one of
 * systemd, Docker Compose, Node or wrangler: lines `NAME=value`, perhaps with quotes, and comments. Comments,
 * order and all other lines stay. Pure.
 */
import { objectIn } from './json-fields.ts';
import { removedSettings, type Successor } from './removed.ts';
import { wordsOf } from './setting-names.ts';

/** A setting of the file with its lines, or a line without a setting. */
interface Part {
  name: string | undefined;
  /** What stands before the name: perhaps `export`. */
  prefix: string;
  /** The value without its quotes. */
  value: string;
  /** As the file has it, without the last line feed. */
  text: string;
}

export interface Rewritten {
  text: string;
  /** A sentence for each setting that was removed. */
  changes: string[];
}

/** Throws an error for a person if a value cannot be carried over. */
export function rewriteSettings(text: string): Rewritten {
  const parts = partsOf(text);
  const changes: string[] = [];
  const rewritten: Part[] = [];
  for (const part of parts) {
    const successor = successorOf(part.name);
    if (part.name === undefined || successor === undefined) {
      rewritten.push(part);
      continue;
    }
    changes.push(`${part.name} ${wordsOf(successor)}.`);
    // The later line counts if a name occurs twice, and an empty value as unset.
    if (part.value === '' || parts.findLast(({ name }) => name === part.name) !== part) continue;
    if ('reason' in successor) rewritten.push(comment(part));
    else carryOver({ ...part, name: part.name, successor }, rewritten, parts);
  }
  return { text: rewritten.map((part) => part.text).join('\n'), changes };
}

const successorOf = (name: string | undefined): Successor | undefined =>
  name !== undefined && Object.hasOwn(removedSettings, name) ? removedSettings[name] : undefined;

interface Removed {
  name: string;
  prefix: string;
  value: string;
  successor: Exclude<Successor, { reason: string }>;
}

/** Puts the value into the line of the successor: the one that the file has, else a new one in this place. */
function carryOver(removed: Removed, rewritten: Part[], parts: readonly Part[]): void {
  const { setting } = removed.successor;
  const isSetting = (part: Part) => part.name === setting;
  // One that comes later in the file is changed where it is.
  const present = rewritten.findLast(isSetting) ?? parts.findLast(isSetting);
  const value = nextValue(removed, present?.value);
  if (value === undefined || value === present?.value) return;
  const { prefix } = present ?? removed;
  const text = `${prefix}${setting}=${quoted(value)}`;
  if (present) Object.assign(present, { value, text });
  else rewritten.push({ name: setting, prefix, value, text });
}

/** The value of the successor's setting, of which the file has `present`. */
function nextValue({ name, value, successor }: Removed, present: string | undefined): string | undefined {
  if ('word' in successor) {
    const words = (present ?? '').split(',').filter((word) => word.trim() !== '');
    if (!successor.isMeant(value) || words.includes(successor.word)) return undefined;
    return [...words, successor.word].join(',');
  }
  if (!('field' in successor)) {
    if (present !== undefined && present !== value && present !== successor.replaced)
      throw new Error(`The file has both ${name} and ${successor.setting}: remove one of them.`);
    return value;
  }
  const { setting, field } = successor;
  const fields = objectIn(present || '{}');
  if (fields === undefined)
    throw new Error(`${setting} is not a JSON object: put "${field}" of ${name} into it, or into its file.`);
  if (field in fields) return undefined;
  const carried = successor.value(value);
  if (carried === undefined || Number.isNaN(carried))
    throw new Error(
      `${name} has a value that cannot be carried over to "${field}" in ${setting}: correct it.`,
    );
  return JSON.stringify({ ...fields, [field]: carried });
}

const comment = ({ text }: Part): Part => ({
  name: undefined,
  prefix: '',
  value: '',
  text: text.replace(/^/gm, '# '),
});

/**
 * Everything between single quotes is literal in each of the formats. JSON has an escape for such a quote.
 */
function quoted(value: string): string {
  if (/^[\w.,:/@+-]*$/.test(value)) return value;
  if (objectIn(value) !== undefined) return `'${value.replaceAll("'", '\\u0027')}'`;
  if (/['\n]/.test(value)) return `"${value.replace(/["\\$`]/g, '\\$&')}"`;
  return `'${value}'`;
}

/** A value in quotes may have line feeds. */
const SETTING =
  /^([^\S\n]*(?:export[^\S\n]+)?)(BERTH_[A-Z0-9_]+)[^\S\n]*=[^\S\n]*(?:'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|([^\n]*?))[^\S\n]*$/my;

function partsOf(text: string): Part[] {
  const parts: Part[] = [];
  let at = 0;
  while (at <= text.length) {
    SETTING.lastIndex = at;
    const [all, prefix = '', name, single, double, plain = ''] = SETTING.exec(text) ?? [];
    const end = text.indexOf('\n', at);
    const line = all ?? text.slice(at, end < 0 ? text.length : end);
    const value = single ?? double?.replace(/\\([\s\S])/g, '$1') ?? plain;
    parts.push({ name, prefix, value, text: line });
    at += line.length + 1;
  }
  return parts;
}
