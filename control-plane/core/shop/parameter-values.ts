/** Values of shop parameters: which texts a parameter accepts. Pure. */

export type ParameterType = 'int' | 'float' | 'string';

export interface ValueLimits {
  type: ParameterType;
  default: string;
  min: number | null;
  max: number | null;
  step: number | null;
}

/** The value for the description, or its problem as a phrase that follows the parameter's name. */
export function readValue(parameter: ValueLimits, text: string): { value: string } | { problem: string } {
  const { type, min, max, step } = parameter;
  if (type === 'string') return { value: text };
  const value = text.trim();
  const number = Number(value);
  if (type === 'int' && !(WHOLE.test(value) && Number.isSafeInteger(number)))
    return { problem: 'must be a whole number' };
  if (type === 'float' && !(DECIMAL.test(value) && Number.isFinite(number)))
    return { problem: 'must be a number' };
  if (min !== null && number < min) return { problem: `must be at least ${min}` };
  if (max !== null && number > max) return { problem: `must be at most ${max}` };
  // Browsers count the steps of a number field from the same base.
  const base = min ?? Number(parameter.default);
  if (step !== null && !isMultiple(number - base, step))
    return { problem: `must be ${base} plus a multiple of ${step}` };
  return { value };
}

const WHOLE = /^[+-]?\d+$/;
/** A text matches in one way at most, so that a megabyte of digits takes linear time. */
const DECIMAL = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

/** Tolerates floating-point rounding, so that 0.3 is three steps of 0.1. */
function isMultiple(difference: number, step: number): boolean {
  const steps = difference / step;
  return Math.abs(steps - Math.round(steps)) < 1e-6;
}
