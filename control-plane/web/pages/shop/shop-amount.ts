/** The number fields of the shop, with their limits, units and the rest of the quota. */
import { type Allowance, MICRO } from '../../../core/accounts/quota.ts';
import { coresText, memoryText } from '../../../core/model/text.ts';
import type { ShopEntry } from '../../../core/shop/shop.ts';
import type { Parameter } from '../../../core/shop/shop-parameters.ts';
import { type Html, html } from '../../components/html.ts';
import { memoryInput, unitField } from '../../components/memory-input.ts';
import { type MemoryEntry, memoryBytes, memoryEntry } from '../../components/memory-unit.ts';

/** Fields of the form by name, as they were typed. */
export type ShopFields = Readonly<Record<string, string>>;

/** Names and ids of fields must not contain spaces, because some attributes are lists of them. */
export const fieldName = (key: string): string => key.replace(/[\s%]/g, encodeURIComponent);

/** What is left of the user's quota; null for a limit that the quota does not have. */
export interface QuotaLeft {
  memoryBytes: number | null;
  cores: number | null;
}

export const quotaLeft = ({ quota, used }: Allowance): QuotaLeft => ({
  memoryBytes: quota.memoryBytes === 0 ? null : Math.max(0, quota.memoryBytes - used.memoryBytes),
  cores: quota.cores === 0 ? null : Math.max(0, quota.cores * MICRO - used.microCores) / MICRO,
});

export function quotaLeftText(allowance: Allowance): string {
  const { memoryBytes, cores } = quotaLeft(allowance);
  const parts = [
    ...(memoryBytes === null ? [] : [`${memoryText(memoryBytes)} of memory`]),
    ...(cores === null ? [] : [coresText(cores)]),
  ];
  return parts.length === 0
    ? 'Your quota does not limit memory and cores.'
    : `Left in your quota: ${parts.join(' and ')}. An execution that needs more waits.`;
}

export const isMemory = ({ kind, name }: Parameter): boolean =>
  kind === 'resources' && name.endsWith('.memory');
const isBytes = (parameter: Parameter): boolean =>
  isMemory(parameter) || /\bbytes\b/i.test(parameter.readableName);

const show = (parameter: Parameter, value: number): string =>
  isBytes(parameter) ? memoryText(value) : String(value);

/** What the quota leaves for each essential instance; null if the quota has no limit. */
function leftForEach({ application }: ShopEntry, parameter: Parameter, quota: QuotaLeft): number | null {
  if (parameter.kind !== 'resources') return null;
  const left = isMemory(parameter) ? quota.memoryBytes : quota.cores;
  const service = application.services.find(({ name }) => parameter.name.startsWith(`${name}.`));
  if (left === null || !service) return null;
  const each = left / Math.max(1, service.essential_count);
  return isMemory(parameter) ? Math.floor(each) : Math.floor(each * 100) / 100;
}

/** Limits in words. */
export function amountHint(entry: ShopEntry, parameter: Parameter, quota: QuotaLeft): string {
  const { type, max } = parameter;
  if (type === 'string') return '';
  const left = leftForEach(entry, parameter, quota);
  return [
    limitText(parameter),
    left !== null &&
      left < (max ?? Number.POSITIVE_INFINITY) &&
      `Left in your quota: ${show(parameter, left)} per instance.`,
  ]
    .filter(Boolean)
    .join(' ');
}

function limitText(parameter: Parameter): string {
  const { min, max } = parameter;
  if (min !== null && max !== null) return `Allowed: ${show(parameter, min)} to ${show(parameter, max)}.`;
  if (min !== null) return `At least ${show(parameter, min)}.`;
  return max === null ? '' : `At most ${show(parameter, max)}.`;
}

/** The entry of a memory parameter as it was typed, or as its default. A value without a unit is in bytes. */
function memoryEntryOf(parameter: Parameter, fields: ShopFields): MemoryEntry {
  const name = fieldName(parameter.key);
  const [amount = parameter.default, unit] = [fields[name], fields[unitField(name)]];
  if (unit !== undefined) return { amount, unit };
  return /^\d+$/.test(amount) ? memoryEntry(Number(amount)) : { amount, unit: 'MiB' };
}

/** The value of a memory parameter in bytes, as the shop reads it; '' if number or unit can't be read. */
export function memoryValue(parameter: Parameter, fields: ShopFields): string {
  const name = fieldName(parameter.key);
  const [amount = '', unit] = [fields[name], fields[unitField(name)]];
  if (unit === undefined) return amount;
  const bytes = memoryBytes({ amount, unit }, Number(parameter.default));
  return Number.isNaN(bytes) ? '' : String(bytes);
}

/** A problem in the words of its field: the shop reports memory in bytes, the form has a unit. */
export const problemText = (parameter: Parameter | undefined, message: string): string =>
  parameter && isMemory(parameter)
    ? message
        .replace('a whole number', 'a number')
        .replace(/\d+(\.\d+)?/g, (bytes) => memoryText(Number(bytes)))
    : message;

/** A parameter and its form, for the controls of the parameter. */
export interface Amount {
  entry: ShopEntry;
  parameter: Parameter;
  /** The fields of the form as they were typed. */
  fields: ShopFields;
  quota: QuotaLeft;
}

/** A number whose slider follows it and leads it, by browser/shop.ts. Memory has a unit beside the number. */
export function amountInput(attributes: Html, amount: Amount): Html {
  const { parameter, fields } = amount;
  if (isMemory(parameter)) {
    const entry = memoryEntryOf(parameter, fields);
    const bytes = memoryBytes(entry, Number(parameter.default));
    return html`
<div class="amount">${memoryControl(attributes, parameter, entry, html`required`)}
${slider(amount, Number.isNaN(bytes) ? parameter.default : String(bytes))}
</div>`;
  }
  const { type, min, max, step, key } = parameter;
  const value = fields[fieldName(key)] ?? parameter.default;
  const limits = html`${min === null ? '' : html` min="${min}"`}${max === null ? '' : html` max="${max}"`}`;
  // Without a min, browsers count steps from the present value, and would refuse other values.
  const steps = step !== null && min !== null ? step : type === 'int' ? 1 : 'any';
  return html`
<div class="amount">
<input ${attributes} type="number"${limits} step="${steps}" value="${value}" required>
${isBytes(parameter) ? html`<output class="scripted" for="${fieldName(key)}">${Number.isFinite(Number(value)) && value !== '' ? memoryText(Number(value)) : ''}</output>` : ''}
${slider(amount, value)}
</div>`;
}

/** An amount that the role may not change. */
export const fixedAmount = (attributes: Html, parameter: Parameter): Html =>
  isMemory(parameter)
    ? memoryControl(attributes, parameter, memoryEntry(Number(parameter.default)), html`disabled`)
    : html`<input ${attributes} value="${parameter.default}" disabled>`;

const memoryControl = (attributes: Html, parameter: Parameter, entry: MemoryEntry, more: Html): Html =>
  memoryInput(attributes, { name: fieldName(parameter.key), label: labelOf(parameter), entry, more });

/** The label of a field. Manifests may name the unit of memory, which the form shows in its own control. */
export const labelOf = (parameter: Parameter): string =>
  isMemory(parameter) ? parameter.readableName.replace(/\s*\((in )?bytes\)$/i, '') : parameter.readableName;

/**
 * From min to the lower of max and what the quota leaves; no slider if neither bounds it. Memory is in bytes.
 * The slider is for pointers only: keyboards use the number.
 */
function slider({ entry, parameter, quota }: Amount, value: string): Html | '' {
  const { min, max } = parameter;
  const left = leftForEach(entry, parameter, quota);
  const from = min ?? 0;
  const end = Math.max(
    Math.min(max ?? Number.POSITIVE_INFINITY, left ?? Number.POSITIVE_INFINITY),
    Number(parameter.default),
  );
  if (!Number.isFinite(end) || end <= from) return '';
  const step = parameter.step ?? (isMemory(parameter) ? 2 ** 20 : parameter.type === 'int' ? 1 : 0.01);
  return html`<input type="range" class="scripted" tabindex="-1" aria-hidden="true" min="${from}" max="${end}" step="${step}" value="${value}">`;
}
