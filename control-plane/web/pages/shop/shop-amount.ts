/** Owns the fields of the shop that take a number: with its limits, in units that can be read, and with what the quota leaves. */
import { type Allowance, MICRO } from '../../../core/accounts/quota.ts';
import type { ShopEntry } from '../../../core/shop/shop.ts';
import type { Parameter } from '../../../core/shop/shop-parameters.ts';
import { type Html, html } from '../../components/html.ts';
import { bytes } from '../../components/pieces.ts';

/** Keys as names and ids of fields: these are lists in some attributes, and have no spaces. */
export const fieldName = (key: string): string => key.replace(/[\s%]/g, encodeURIComponent);

/** What the user's quota leaves; null where it has no cap. */
export interface Leave {
  memoryBytes: number | null;
  cores: number | null;
}

export const leaveOf = ({ quota, used }: Allowance): Leave => ({
  memoryBytes: quota.memoryBytes === 0 ? null : Math.max(0, quota.memoryBytes - used.memoryBytes),
  cores: quota.cores === 0 ? null : Math.max(0, quota.cores * MICRO - used.microCores) / MICRO,
});

export function leaveText(allowance: Allowance): string {
  const { memoryBytes, cores } = leaveOf(allowance);
  const parts = [
    ...(memoryBytes === null ? [] : [`${bytes(memoryBytes)} of memory`]),
    ...(cores === null ? [] : [`${cores} ${cores === 1 ? 'core' : 'cores'}`]),
  ];
  return parts.length === 0
    ? 'Your quota has no cap on memory and cores.'
    : `Your quota leaves ${parts.join(' and ')}. What asks for more waits.`;
}

const isMemory = ({ kind, name }: Parameter): boolean => kind === 'resources' && name.endsWith('.memory');
const isBytes = (parameter: Parameter): boolean =>
  isMemory(parameter) || /\bbytes\b/i.test(parameter.readableName);

const show = (parameter: Parameter, value: number): string =>
  isBytes(parameter) ? bytes(value) : String(value);

/** What the quota leaves for each of the instances that it needs to start; null where there is no cap. */
function leftForEach({ application }: ShopEntry, parameter: Parameter, leave: Leave): number | null {
  if (parameter.kind !== 'resources') return null;
  const left = isMemory(parameter) ? leave.memoryBytes : leave.cores;
  const service = application.services.find(({ name }) => parameter.name.startsWith(`${name}.`));
  if (left === null || !service) return null;
  const each = left / Math.max(1, service.essential_count);
  return isMemory(parameter) ? Math.floor(each) : Math.floor(each * 100) / 100;
}

/** Limits in words. */
export function amountHint(entry: ShopEntry, parameter: Parameter, leave: Leave): string {
  const { type, min, max } = parameter;
  if (type === 'string') return '';
  const left = leftForEach(entry, parameter, leave);
  const limits = [
    ...(min === null ? [] : [`from ${show(parameter, min)}`]),
    ...(max === null ? [] : [`up to ${show(parameter, max)}`]),
  ].join(' ');
  return [
    limits && `${limits.charAt(0).toUpperCase()}${limits.slice(1)}.`,
    left !== null &&
      left < (max ?? Number.POSITIVE_INFINITY) &&
      `Your quota leaves ${show(parameter, left)} for each.`,
  ]
    .filter(Boolean)
    .join(' ');
}

/** The number is what counts; slider and unit follow it and lead it, by browser/shop.ts. */
export function amount(
  entry: ShopEntry,
  parameter: Parameter,
  value: string,
  leave: Leave,
  attributes: Html,
): Html {
  const { type, min, max, step } = parameter;
  const limits = html`${min === null ? '' : html` min="${min}"`}${max === null ? '' : html` max="${max}"`}`;
  // Without a min browsers count steps from what is filled in, and would refuse the rest.
  const steps = step !== null && min !== null ? step : type === 'int' ? 1 : 'any';
  const unit = isBytes(parameter);
  const inUnits = unit && value !== '' && Number.isFinite(Number(value)) ? bytes(Number(value)) : '';
  return html`
<div class="amount">
<input ${attributes} type="number"${limits} step="${steps}" value="${value}" required>
${unit ? html`<output class="scripted" for="${fieldName(parameter.key)}" data-bytes>${inUnits}</output>` : ''}
${slider(entry, parameter, value, leave)}
</div>`;
}

/** From min to what is allowed and the quota leaves; none where that has no end. For pointers: the keyboard has the number. */
function slider(entry: ShopEntry, parameter: Parameter, value: string, leave: Leave): Html | '' {
  const { min, max } = parameter;
  const left = leftForEach(entry, parameter, leave);
  const from = min ?? 0;
  const end = Math.max(
    Math.min(max ?? Number.POSITIVE_INFINITY, left ?? Number.POSITIVE_INFINITY),
    Number(parameter.default),
  );
  if (!Number.isFinite(end) || end <= from) return '';
  const step = parameter.step ?? (isMemory(parameter) ? 2 ** 20 : parameter.type === 'int' ? 1 : 0.01);
  return html`<input type="range" class="scripted" tabindex="-1" aria-hidden="true" min="${from}" max="${end}" step="${step}" value="${value}">`;
}
