/** Texts of a Compose file as a description has them. Pure. */

const REFERENCE = /(?<!\$)\{([a-z_]+)(#[A-Za-z0-9-]+)?\}/g;
const REFERENCES = ['user_name', 'execution_id', 'execution_name', 'deployment_name', 'dns_name'];

/** References of Berth stay references, and any other text in braces stays text. */
export const escaped = (text: string): string =>
  text.replaceAll(REFERENCE, (whole, key: string) => (REFERENCES.includes(key) ? whole : `{${whole}}`));

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
