/** The input of an amount of memory: a number and its unit. Works without script. */
import { type Html, html } from './html.ts';
import { MEMORY_UNITS, type MemoryEntry } from './memory-unit.ts';
import { options } from './pieces.ts';

/** Name of the field that holds the unit of the field `name`. */
export const unitField = (name: string): string => `${name}_unit`;

interface MemoryInput {
  name: string;
  /** Label of the number, for the accessible name of the unit. */
  label: string;
  entry: MemoryEntry;
  /** Further attributes of both controls, such as `required` or `disabled`. */
  more?: Html | '';
}

export const memoryInput = (attributes: Html, { name, label, entry, more = '' }: MemoryInput): Html => html`
<div class="joined"><input ${attributes} value="${entry.amount}" inputmode="decimal" autocomplete="off" ${more}><select name="${unitField(name)}" aria-label="Unit of ${label}" autocomplete="off" ${more}>${options(UNITS, entry.unit)}</select></div>`;

const UNITS = Object.keys(MEMORY_UNITS).map((unit) => [unit, unit] as const);
