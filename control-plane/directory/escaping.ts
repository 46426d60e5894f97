/**
 * Puts a name into a distinguished name (RFC 4514) or a search filter (RFC 4515), so that it stays one value.
 * Pure.
 */

/** Stands for the name in a template. */
export const PLACE = '{name}';

/** Stands for the distinguished name of a user in a filter. */
export const DN_PLACE = '{dn}';

/** The filter with both places replaced by escaped values. */
export const filledFor = (filter: string, dn: string, name: string): string =>
  filled(
    filter.replaceAll(DN_PLACE, () => escaped(dn)),
    name,
  );

/** `{name}` replaced by the escaped name. Both syntaxes read `\` and two hexadecimal digits as one byte. */
export const filled = (template: string, name: string): string =>
  template.replaceAll(PLACE, () => escaped(name));

/** Escapes whatever is neither a letter nor a digit, since both syntaxes take these as they are. */
const escaped = (name: string): string => name.replace(/[^\p{L}\p{N}]/gu, bytesOf);

const bytesOf = (text: string): string => Buffer.from(text).toString('hex').replace(/../g, '\\$&');
