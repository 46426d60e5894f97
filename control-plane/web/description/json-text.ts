/** The line of any JSON pointer in a text that is valid JSON. */
import { type Place, placesOf } from '../../../shared/json-faults.ts';
import type { Steps } from '../../../shared/steps.ts';
import { offsetSteps } from './json-places.ts';

/**
 * The places in a valid text of the values that pointers (RFC 6901) name, or the places where missing values
 * belong.
 */
export function* placeSteps(text: string, pointers: readonly string[]): Steps<Place[]> {
  return placesOf(text, yield* offsetSteps(text, pointers.map(segmentsOf)));
}

const segmentsOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));

/** A pointer in programming notation: `services[0].resources.memory`. */
export const pathOf = (pointer: string): string =>
  segmentsOf(pointer)
    .map((segment, at) => (/^\d+$/.test(segment) ? `[${segment}]` : `${at > 0 ? '.' : ''}${segment}`))
    .join('');
