/** Connects the controls of an amount in the shop's form: number, unit of memory, and slider. */

import { memoryText } from '../../../core/model/text.ts';
import { MEMORY_UNITS, memoryBytes, memoryEntry } from '../../components/memory-unit.ts';

export interface Amount {
  slider: HTMLInputElement | null;
  /** Moves the slider to the number, and shows a number of bytes in binary units. */
  show(): void;
  /** Sets number and unit to the slider. */
  followSlider(): void;
}

export function amountOf(element: Element): Amount | undefined {
  const number = element.querySelector<HTMLInputElement>('input:not([type=range])');
  const unit = element.querySelector('select');
  const slider = element.querySelector<HTMLInputElement>('input[type=range]');
  const output = element.querySelector('output');
  if (!number) return undefined;
  const show = () => {
    const value = unit ? memoryBytes({ amount: number.value, unit: unit.value }) : Number(number.value);
    const isKnown = number.value !== '' && Number.isFinite(value);
    if (slider && isKnown) slider.value = String(value);
    if (output) output.textContent = isKnown ? memoryText(value) : '';
  };
  const followSlider = () => {
    if (unit) [number.value, unit.value] = entryIn(unit.value, Number(slider?.value));
    else number.value = slider?.value ?? '';
    show();
  };
  return { slider, show, followSlider };
}

/** The amount in the selected unit if two decimals express it exactly: the unit must not flicker. */
function entryIn(unit: string, bytes: number): [amount: string, unit: string] {
  const amount = bytes / (MEMORY_UNITS[unit] ?? 1);
  if (Number(amount.toFixed(2)) === amount) return [String(amount), unit];
  const entry = memoryEntry(bytes);
  return [entry.amount, entry.unit];
}
