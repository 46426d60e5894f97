/**
 * Renders the reference of the description format in docs/user-guide.md and the file
 * docs/application-3.schema.json, both from the schema. `npm run docs` writes them. A test fails while the
 * files differ from the rendered text.
 */
import {
  applicationJsonSchema,
  applicationReference,
  CHECKS_ACROSS_FIELDS,
  VARIABLE_REFERENCE,
  withCode,
} from '../../../shared/application-json-schema.ts';

/** The text of docs/application-3.schema.json. */
export const schemaFileText = (): string => `${JSON.stringify(applicationJsonSchema(), null, 2)}\n`;

/** The guide with fresh references between its markers. */
export function withReference(guide: string): string {
  const filled = between(guide, 'application-reference', referenceText());
  const checked = between(filled, 'application-checks', checksText());
  return between(checked, 'application-variables', variablesText());
}

/** Throws if the guide does not have both markers, in order. */
function between(guide: string, name: string, text: string): string {
  const [begin, end] = [`<!-- ${name}:begin -->\n`, `<!-- ${name}:end -->`];
  const from = guide.indexOf(begin);
  const to = guide.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`docs/user-guide.md needs the markers ${begin.trim()} and ${end}`);
  return `${guide.slice(0, from)}${begin}\n${text}\n${guide.slice(to)}`;
}

const checksText = (): string => CHECKS_ACROSS_FIELDS.map((check) => `- ${withCode(check)}.\n`).join('');

const variablesText = (): string =>
  `| reference | becomes |\n|---|---|\n${VARIABLE_REFERENCE.map(([reference, meaning]) => `| ${reference} | ${meaning} |\n`).join('')}`;

/** A table for the application, and one for each kind of object in its lists. */
function referenceText(): string {
  const sections = applicationReference().map(({ heading, rows }) => {
    const lines = rows.map(
      ({ name, type, required, meaning }) =>
        `| \`${name}\` | ${type} | ${required ? 'yes' : 'no'} | ${meaning} |\n`,
    );
    return `### ${heading}\n\n| field | type | required | meaning |\n|---|---|---|---|\n${lines.join('')}`;
  });
  return sections.join('\n');
}
