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

const REFERENCE = /\{\{([a-z_]+(?:#[A-Za-z0-9-]+)?)\}\}|(?<!\$)\{([a-z_]+(?:#[A-Za-z0-9-]+)?)\}/g;

/** Names of the unknown references in `texts`, each once. `instances` are those of the application. */
export function unknownVariables(texts: readonly string[], instances: ReadonlySet<string>): string[] {
  const known: Variables = {
    user_name: '',
    execution_id: '',
    execution_name: '',
    deployment_name: '',
    dnsName: (instance) => (instance === 'self' || instances.has(instance) ? '' : undefined),
  };
  const unknown = new Set<string>();
  for (const text of texts) {
    for (const [, , name] of text.matchAll(REFERENCE)) {
      if (name !== undefined && lookUp(name, known) === undefined) unknown.add(name);
    }
  }
  return [...unknown];
}

/** Replaces each reference. Throws on an unknown one, which validation has refused before. */
export function substitute(text: string, variables: Variables): string {
  return text.replace(REFERENCE, (_, literal: string | undefined, name: string) => {
    if (literal !== undefined) return `{${literal}}`;
    const value = lookUp(name, variables);
    if (value === undefined) throw new Error(`unknown variable {${name}}`);
    return value;
  });
}

function lookUp(name: string, variables: Variables): string | undefined {
  const [key, instance] = name.split('#');
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
