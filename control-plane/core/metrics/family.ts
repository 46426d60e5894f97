/** Families of metrics, and their text in the format that Prometheus scrapes (version 0.0.4). Pure. */

/** All samples of one name. Units are seconds and bytes, and the name of a counter ends with `_total`. */
export type Family = Named & (Plain | Distribution);

interface Named {
  name: string;
  help: string;
}

interface Plain {
  type: 'counter' | 'gauge';
  samples: readonly Sample[];
}

interface Distribution {
  type: 'histogram';
  /** In ascending order, each with the number of values up to it; beyond the last one: `count`. */
  buckets: readonly (readonly [upTo: number, values: number])[];
  sum: number;
  count: number;
}

export interface Sample {
  labels: Labels;
  value: number;
}

/** The number of different values of each label must be bounded. */
export type Labels = Readonly<Record<string, string>>;

const NONE: Labels = {};

type Values = number | readonly Sample[];

export const gauge = (name: string, help: string, values: Values): Family => ({
  name,
  help,
  type: 'gauge',
  samples: samplesOf(values),
});

export const counter = (name: string, help: string, values: Values): Family => ({
  name,
  help,
  type: 'counter',
  samples: samplesOf(values),
});

const samplesOf = (values: Values): readonly Sample[] =>
  typeof values === 'number' ? [{ labels: NONE, value: values }] : values;

/** One sample for each entry, with the key as the value of `label`. */
export const byLabel = (label: string, values: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value }));

/** Samples of the same name come from several parts of the program, and must stand together in the text. */
export function merged(families: readonly Family[]): Family[] {
  const byName = new Map<string, Family>();
  for (const family of families) {
    const before = byName.get(family.name);
    const isPlain = before && before.type !== 'histogram' && family.type !== 'histogram';
    const samples = isPlain ? [...before.samples, ...family.samples] : [];
    byName.set(family.name, isPlain ? { ...before, samples } : family);
  }
  return [...byName.values()];
}

export const metricsText = (families: readonly Family[]): string => families.map(familyText).join('');

function familyText(family: Family): string {
  const { name, help, type } = family;
  const head = `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`;
  if (family.type !== 'histogram')
    return head + family.samples.map(({ labels, value }) => line(name, labels, value)).join('');
  const { buckets, sum, count } = family;
  return [
    head,
    ...buckets.map(([upTo, values]) => line(`${name}_bucket`, { le: numberText(upTo) }, values)),
    line(`${name}_bucket`, { le: '+Inf' }, count),
    line(`${name}_sum`, NONE, sum),
    line(`${name}_count`, NONE, count),
  ].join('');
}

function line(name: string, labels: Labels, value: number): string {
  let text = '';
  for (const label in labels) text += `${text === '' ? '' : ','}${label}="${escaped(labels[label] ?? '')}"`;
  return `${text === '' ? name : `${name}{${text}}`} ${numberText(value)}\n`;
}

const escaped = (text: string): string =>
  /[\\"\n]/.test(text) ? text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n') : text;

const numberText = (value: number): string =>
  Number.isFinite(value) ? String(value) : Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
