/** Descriptions as people read them. */
import { type Steps, TURN_UNITS } from '../../../shared/steps.ts';

/** The same JSON in indented lines; in steps, because it may be long. */
export function* indentSteps(description: string): Steps<string> {
  const value: unknown = JSON.parse(description);
  yield TURN_UNITS;
  return JSON.stringify(value, null, 2);
}
