/** Texts of a Compose file as a description has them. Pure. */
import { shown } from '../../shared/application-problems.ts';
import { joinCommand, splitCommand } from '../../shared/command.ts';
import { escapeReferences, SECRET_REFERENCE } from '../../shared/variables.ts';
import type { Path, Remarks } from './remarks.ts';

/** Berth's own, without the name of an instance or a secret. */
const FILLED_IN: ReadonlySet<string> = new Set([
  'user_name',
  'execution_id',
  'execution_name',
  'deployment_name',
]);
const isReference = (name: string): boolean => FILLED_IN.has(name) || /^(?:dns_name|secret)#/.test(name);

/** What seems to refer to a secret. */
const SECRET = /(?<![{$])\{secret#([^{}]*)\}/g;
const IN_SECRET = /^[\w-]+$/;

/**
 * The text as a description has it: references of Berth stay references, and other braces stay text.
 * `filledIn` is called with those that are neither of an instance nor of a secret.
 */
export const withBraces = (text: string, filledIn: (name: string) => void): string =>
  text.includes('{')
    ? escapeReferences(text, (name) => {
        if (FILLED_IN.has(name)) filledIn(name);
        return isReference(name);
      })
    : text;

/** The same of the texts of a place, with remarks. */
export function withReferences(texts: readonly string[], path: Path, remarks: Remarks): string[] {
  const seen = new Set<string>();
  const escaped = texts.map((text) => {
    // What is kept with other names is refused by the checks of descriptions.
    for (const [reference, name = ''] of text.includes(SECRET_REFERENCE) ? text.matchAll(SECRET) : [])
      if (!IN_SECRET.test(name))
        remarks.problem(
          path,
          `uses ${shown(reference)}, but names of secrets have letters, digits, "_" and "-" only`,
        );
    return withBraces(text, (name) => seen.add(name));
  });
  for (const name of seen)
    remarks.note(path, `has {${name}}, which Berth fills in: x-berth takes {{${name}}} for the text`);
  return escaped;
}

/** A command with the words of the file. Quotes may make or break a reference, so that each word counts. */
export function commandWithReferences(
  command: string | readonly string[],
  path: Path,
  remarks: Remarks,
): string {
  const split = typeof command === 'string' ? splitCommand(command) : { words: command };
  // The checks of descriptions report the problem.
  if ('problem' in split) return String(command);
  const words = withReferences(split.words, path, remarks);
  const isSame = typeof command === 'string' && words.every((word, at) => word === split.words[at]);
  return isSame ? command : joinCommand(words);
}

/** Where a value may name a host: at its beginning, or after `//`, `@`, `,`, `=` or a blank. */
const HOST = /(?:^|\/\/|[@,=\s])([A-Za-z0-9_][\w.-]*)(?=:\d|\/|,|\s|$)/g;

/** The first of `names` that the text seems to mean as a host. */
export function hostIn(text: string, names: ReadonlyMap<string, string>): string | undefined {
  for (const [, name = ''] of text.matchAll(HOST)) if (names.has(name)) return name;
  return undefined;
}

/** Names of services have at least three characters here. */
export function serviceName(name: string): string {
  const label = name.replaceAll(/[._]/g, '-');
  return label.length < 3 ? `${label}-service` : label;
}

export function applicationName(name: string): string {
  const label = name.replaceAll(/[^@a-zA-Z0-9-]+/g, '-').slice(0, 128);
  return label.length < 3 ? `app-${label}` : label;
}
